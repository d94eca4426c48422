"""What every log promises of appends."""

from concurrent.futures import ThreadPoolExecutor

import msgspec

from headgate.application.commands.append_unit import rows_of
from headgate.application.ports import AppendConflict, Appended, KeyReused, Replayed
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.workloads.state import Workload
from tests.contracts.adapters import Adapters
from tests.contracts.events import are_appended, event, key, unit
from tests.contracts.test_read_models import workload

ONE, TWO = "workload/a/1", "workload/a/2"


def test_an_empty_log_stands_at_zero(adapters: Adapters) -> None:
    assert adapters.log.head() == 0
    assert adapters.log.read(0, limit=10) == []


def test_the_events_of_a_unit_take_the_next_positions(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    verdicts = adapters.log.append([unit(event(TWO), event("workload/a/3"), event(TWO))])

    assert verdicts == [Appended(first_position=2, last_position=4)]
    assert adapters.log.head() == 4


def test_versions_count_within_a_stream(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE), event(TWO), event(ONE))])
    adapters.log.append([unit(event(ONE), expected={ONE: 2})])

    found = [(r.stream, r.version) for r in adapters.log.read(0, limit=10)]

    assert found == [(ONE, 1), (TWO, 1), (ONE, 2), (ONE, 3)]


def test_an_event_is_read_as_it_was_written(adapters: Adapters) -> None:
    given = unit(event(ONE, 'Grüße "quoted" \\u0041 \n 😀'))
    adapters.log.append([given])

    [recorded] = adapters.log.read(0, limit=10)

    assert recorded.event == given.events[0].event
    assert (recorded.at, recorded.metadata) == (given.at, given.metadata)


def test_a_unit_decided_on_an_old_version_is_refused(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    verdict = adapters.log.append([unit(event(ONE))])

    assert verdict == [AppendConflict(reason="workload/a/1 is at version 1, not 0")]
    assert adapters.log.head() == 1


def test_versions_of_a_workload_go_on_with_and_without_its_row(adapters: Adapters) -> None:
    """It gets a row, an event without one, goes with its row, and is created again."""
    row, no_row = rows_of(ONE, workload("1")), rows_of(ONE, Absent())
    found = []
    for version, rows in enumerate([(), row, (), row, no_row, no_row, row, row]):
        before = adapters.log.head()
        stale = unit(event(ONE), expected={ONE: version + 1}, rows=row)
        told = f"{ONE} is at version {version}, not {version + 1}"
        assert adapters.log.append([stale]) == [AppendConflict(reason=told)]
        [appended] = adapters.log.append([unit(event(ONE), expected={ONE: version}, rows=rows)])
        assert appended == Appended(first_position=before + 1, last_position=before + 1)
        [loaded] = adapters.models.load([ONE])
        found.append((loaded.version, loaded.position, isinstance(loaded.state, Workload)))
    shown = [False, True, True, True, False, False, True, True]
    assert found == [(n, n, is_shown) for n, is_shown in enumerate(shown, 1)]


def test_a_stream_that_was_only_read_counts_as_well(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    verdicts = adapters.log.append(
        [
            unit(event(TWO), expected={ONE: 0}),
            unit(event(TWO), expected={ONE: 1}),
            unit(event("workload/a/3"), expected={ONE: 2}),
        ]
    )

    assert are_appended(verdicts) == [False, True, False]


def test_nothing_of_a_refused_unit_is_kept(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    adapters.log.append([unit(event(TWO), event(ONE), idempotency=key())])

    assert adapters.log.head() == 1
    assert adapters.log.read_stream(TWO) == []
    assert adapters.models.replay_of("k", "user:ada") is None


def test_a_refused_unit_fails_alone(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    verdicts = adapters.log.append(
        [unit(event(TWO)), unit(event(ONE)), unit(event("workload/a/3"), event("workload/a/4"))]
    )

    assert are_appended(verdicts) == [True, False, True]
    assert [r.position for r in adapters.log.read(0, limit=10)] == [1, 2, 3, 4]


def test_a_later_unit_of_a_group_sees_an_earlier_one(adapters: Adapters) -> None:
    verdicts = adapters.log.append(
        [unit(event(ONE)), unit(event(ONE)), unit(event(ONE), expected={ONE: 1})]
    )

    assert are_appended(verdicts) == [True, False, True]


def test_a_unit_after_a_refused_one_sees_nothing_of_it(adapters: Adapters) -> None:
    verdicts = adapters.log.append(
        [
            unit(event(ONE)),
            unit(event(ONE), event(TWO)),
            unit(event(TWO)),
        ]
    )

    assert are_appended(verdicts) == [True, False, True]


def test_a_unit_without_events_says_whether_its_versions_hold(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE))])

    verdicts = adapters.log.append([unit(expected={ONE: 1}), unit(expected={ONE: 4})])

    assert verdicts[0] == Appended(first_position=2, last_position=1)
    assert isinstance(verdicts[1], AppendConflict)
    assert adapters.log.head() == 1


def test_a_repeated_request_gets_its_first_answer(adapters: Adapters) -> None:
    first = key(answer=b"\x00\xff first")
    adapters.log.append([unit(event(ONE), event(TWO), idempotency=first)])

    again = unit(event(ONE), idempotency=msgspec.structs.replace(first, answer=b"second"))
    [verdict] = adapters.log.append([again])

    assert verdict == Replayed(key=first, position=2)
    assert adapters.models.replay_of("k", "user:ada") == verdict
    assert adapters.log.head() == 2


def test_a_key_of_another_request_is_refused(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE), idempotency=key(request="this"))])

    verdicts = adapters.log.append([unit(event(TWO), idempotency=key(request="that"))])

    assert verdicts == [KeyReused(key="k")]


def test_a_key_used_twice_in_one_group_counts_once(adapters: Adapters) -> None:
    first, second = adapters.log.append(
        [unit(event(ONE), idempotency=key()), unit(event(TWO), idempotency=key())]
    )

    assert isinstance(first, Appended)
    assert second == Replayed(key=key(), position=1)


def test_keys_of_different_callers_do_not_meet(adapters: Adapters) -> None:
    other = msgspec.structs.replace(key(), actor="user:bob")

    verdicts = adapters.log.append(
        [unit(event(ONE), idempotency=key()), unit(event(TWO), idempotency=other)]
    )

    assert are_appended(verdicts) == [True, True]


def test_a_change_of_configuration_refuses_what_was_decided_before(adapters: Adapters) -> None:
    adapters.log.append([unit(event("cohort/x", configures=True), event("cohort/y"))])

    verdicts = adapters.log.append(
        [
            unit(event(ONE), config_position=0),
            unit(event(TWO), config_position=1),
            unit(event("workload/a/3"), config_position=2),
            unit(event("workload/a/4"), config_position=None),
        ]
    )

    assert are_appended(verdicts) == [False, True, True, True]


def test_a_change_of_configuration_counts_within_its_group(adapters: Adapters) -> None:
    verdicts = adapters.log.append(
        [
            unit(event(ONE), config_position=0),
            unit(event("cohort/x", configures=True)),
            unit(event(TWO), config_position=0),
        ]
    )

    assert are_appended(verdicts) == [True, True, False]


def test_positions_have_no_gaps_under_many_writers(adapters: Adapters) -> None:
    def write(writer: int) -> None:
        for turn in range(20):
            group = [
                unit(event(f"workload/w{writer}/{turn}-{n}"), event("workload/shared/1"))
                for n in range(3)
            ]
            head = adapters.log.head()
            shared = len(adapters.log.read_stream("workload/shared/1"))
            adapters.log.append(
                [
                    msgspec.structs.replace(u, expected={**u.expected, "workload/shared/1": shared})
                    for u in group
                ]
            )
            assert adapters.log.head() >= head

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))

    recorded = list(adapters.log.read_all())
    assert [r.position for r in recorded] == list(range(1, adapters.log.head() + 1))
    shared_versions = [r.version for r in recorded if r.stream == "workload/shared/1"]
    assert shared_versions == list(range(1, len(shared_versions) + 1))
    assert len(shared_versions) >= 20
