"""What every store promises of cached folds."""

from tests.contracts.adapters import Adapters


def test_nothing_is_cached_at_first(adapters: Adapters) -> None:
    assert adapters.state_cache.newest("cell", "1") is None


def test_the_newest_fold_is_found(adapters: Adapters) -> None:
    for position in (5, 9, 7):
        adapters.state_cache.put("cell", "1", position, b"\x00fold %d" % position)

    assert adapters.state_cache.newest("cell", "1") == (9, b"\x00fold 9")
    assert adapters.state_cache.newest("cell", "1", at_most=8) == (7, b"\x00fold 7")
    assert adapters.state_cache.newest("cell", "1", at_most=4) is None


def test_folds_of_other_code_or_name_are_not_found(adapters: Adapters) -> None:
    adapters.state_cache.put("cell", "1", 5, b"fold")

    assert adapters.state_cache.newest("cell", "2") is None
    assert adapters.state_cache.newest("other", "1") is None


def test_a_fold_at_the_same_position_replaces_the_older(adapters: Adapters) -> None:
    adapters.state_cache.put("cell", "1", 5, b"older")
    adapters.state_cache.put("cell", "1", 5, b"newer")

    assert adapters.state_cache.newest("cell", "1") == (5, b"newer")


def test_old_folds_far_apart_are_kept_for_reads_of_the_past(adapters: Adapters) -> None:
    for position in range(10_000, 400_000, 10_000):
        adapters.state_cache.put("cell", "1", position, b"%d" % position)

    for position in (70_000, 160_000, 390_000):
        found = adapters.state_cache.newest("cell", "1", at_most=position)
        assert found is not None
        assert position - found[0] <= 50_000


def test_folds_share_parts(adapters: Adapters) -> None:
    cache = adapters.state_cache
    assert cache.put("cell", "1", 5, b"first", {"a": b"\x00part"})
    assert cache.put("cell", "1", 6, b"second", {"a": None, "b": b"other part"})

    assert cache.part("a") == b"\x00part"
    assert cache.part("b") == b"other part"
    assert cache.part("c") is None


def test_a_fold_is_not_kept_without_all_of_its_parts(adapters: Adapters) -> None:
    cache = adapters.state_cache

    assert not cache.put("cell", "1", 5, b"fold", {"a": b"part", "gone": None})
    assert cache.newest("cell", "1") is None
