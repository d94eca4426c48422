"""What every store promises of cached folds."""

from headgate.application.snapshot_store import NewFold
from tests.contracts.adapters import Adapters

ONE = ("1",)
TWO = ("2", "1")
"""The versions that a release reads which writes version 2."""


def test_nothing_is_cached_at_first(adapters: Adapters) -> None:
    assert adapters.state_cache.newest("cell", ONE) is None


def test_the_newest_fold_is_found(adapters: Adapters) -> None:
    for position in (5, 9, 7):
        adapters.state_cache.put("cell", ONE, NewFold(position, b"\x00fold %d" % position))

    assert adapters.state_cache.newest("cell", ONE) == (9, "1", b"\x00fold 9")
    assert adapters.state_cache.newest("cell", ONE, at_most=8) == (7, "1", b"\x00fold 7")
    assert adapters.state_cache.newest("cell", ONE, at_most=4) is None


def test_folds_of_other_versions_or_names_are_not_found(adapters: Adapters) -> None:
    adapters.state_cache.put("cell", ONE, NewFold(5, b"fold"))

    assert adapters.state_cache.newest("cell", ("2",)) is None
    assert adapters.state_cache.newest("other", ONE) is None


def test_a_fold_at_the_same_position_replaces_the_older(adapters: Adapters) -> None:
    adapters.state_cache.put("cell", ONE, NewFold(5, b"older"))
    adapters.state_cache.put("cell", ONE, NewFold(5, b"newer"))

    assert adapters.state_cache.newest("cell", ONE) == (5, "1", b"newer")


def test_old_folds_far_apart_are_kept_for_reads_of_the_past(adapters: Adapters) -> None:
    for position in range(10_000, 400_000, 10_000):
        adapters.state_cache.put("cell", ONE, NewFold(position, b"%d" % position))

    for position in (70_000, 160_000, 390_000):
        found = adapters.state_cache.newest("cell", ONE, at_most=position)
        assert found is not None
        assert position - found.position <= 50_000


def test_the_newest_fold_of_all_readable_versions_is_found(adapters: Adapters) -> None:
    cache = adapters.state_cache
    for versions, position in ((TWO, 5), (ONE, 5), (ONE, 8)):
        cache.put("cell", versions, NewFold(position, b"of %s" % versions[0].encode()))

    assert cache.newest("cell", TWO) == (8, "1", b"of 1")
    assert cache.newest("cell", TWO, at_most=7) == (5, "2", b"of 2")
    assert cache.newest("cell", ONE, at_most=7) == (5, "1", b"of 1")


def test_folds_of_an_earlier_version_stay_for_reads_of_the_past(adapters: Adapters) -> None:
    for position in range(10_000, 400_000, 10_000):
        versions = ONE if position < 300_000 else TWO
        adapters.state_cache.put("cell", versions, NewFold(position, b"%d" % position))

    for position in (70_000, 160_000, 290_000, 390_000):
        found = adapters.state_cache.newest("cell", TWO, at_most=position)
        assert found is not None
        assert position - found.position <= 50_000
        assert found.version == ("1" if found.position < 300_000 else "2")


def test_of_versions_that_are_not_read_the_newest_stay_for_the_release_before(
    adapters: Adapters,
) -> None:
    for versions in (ONE, ("2",)):
        for position in (10, 20, 30):
            adapters.state_cache.put("cell", versions, NewFold(position, b"fold"))

    found = adapters.state_cache.newest("cell", ONE)

    assert found is not None
    assert found.position == 30


def test_all_folds_of_a_name_are_forgotten(adapters: Adapters) -> None:
    for name, versions in (("cell", ONE), ("cell", TWO), ("other", ONE)):
        adapters.state_cache.put(name, versions, NewFold(5, b"fold", {name: b"part"}))

    adapters.state_cache.forget("cell")

    assert adapters.state_cache.newest("cell", TWO) is None
    assert adapters.state_cache.newest("other", ONE) == (5, "1", b"fold")
    assert adapters.state_cache.part("other") == b"part"


def test_folds_share_parts(adapters: Adapters) -> None:
    cache = adapters.state_cache
    assert cache.put("cell", ONE, NewFold(5, b"first", {"a": b"\x00part"}))
    assert cache.put("cell", ONE, NewFold(6, b"second", {"a": None, "b": b"other part"}))

    assert cache.part("a") == b"\x00part"
    assert cache.part("b") == b"other part"
    assert cache.part("c") is None


def test_a_fold_is_not_kept_without_all_of_its_parts(adapters: Adapters) -> None:
    cache = adapters.state_cache

    assert not cache.put("cell", ONE, NewFold(5, b"fold", {"a": b"part", "gone": None}))
    assert cache.newest("cell", ONE) is None
