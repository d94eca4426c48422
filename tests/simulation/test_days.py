"""Simulated days: under any events and crashes all invariants hold and all work ends."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

import tests.simulation.cluster
from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.partitions import MemoryPartitions, MemoryPartitionSession
from headgate.application.ports import AppendUnit, Fence, Verdict
from headgate.application.run_partition import sync_partitions
from headgate.domain.cluster_state import ClusterState
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import LogBatch, LogPoint
from tests.hypothesis_profiles import examples
from tests.simulation.scenario_run import run_day


@pytest.mark.parametrize("seed", range(examples(8, quick=4)))
def test_a_day_breaks_no_rule_and_everything_ends(seed: int) -> None:
    run_day(seed, steps=120)


def test_the_same_seed_gives_the_same_day() -> None:
    assert run_day(3, steps=60) == run_day(3, steps=60)


def test_days_are_full_of_everything() -> None:
    seen: dict[str, int] = {}
    crashes = 0
    for seed in (108, 109, 110):
        day = run_day(seed, steps=150)
        crashes += day.crashes
        for name, times in day.seen.items():
            seen[name] = seen.get(name, 0) + times
    wanted = {
        "RoundCommitted",
        "RoundCompleted",
        "WorkloadAdmitted",
        "WorkloadDeleted",
        "WorkloadEvicted",
        "WorkloadExplained",
        "WorkloadRequeued",
        "WorkloadShrunk",
        "WorkloadStopped",
    }
    assert wanted <= set(seen)
    assert crashes
    faults = {
        "rewinds", "refused", "doubled", "stepped back", "stepped forward", "hung", "slow",
        "interferences", "locks held twice", "moved queues", "lost shapes", "folds compared",
        "appended by a replica",
    }  # fmt: skip
    assert faults <= set(seen)
    assert seen["LogRewound"]
    assert seen["EventIgnored"]


def test_seed_4_a_later_borrower_takes_no_reserved_capacity() -> None:
    run_day(4)


def test_seed_1013_an_eviction_elsewhere_leaves_the_round_no_budget() -> None:
    run_day(1013)


class Unchecked:
    """Methods of the database and of sessions with one rule left out."""

    refusal = MemoryDatabase.refusal
    conflict = MemoryDatabase._conflict  # noqa: SLF001
    fence_conflict = MemoryDatabase._fence_conflict  # noqa: SLF001
    sync_partitions = MemoryPartitions.sync_partitions
    commit_idle = MemoryPartitionSession.commit_idle
    commit_decisions = MemoryPartitionSession.commit_decisions


def refuse_no_lost_past(
    database: MemoryDatabase, unit: AppendUnit, *given: Any, **named: Any
) -> Verdict | None:
    return Unchecked.refusal(database, replace(unit, past=None), *given, **named)


def read_on_without_comparing(
    database: MemoryDatabase, point: LogPoint, limit: int, _reader: object = None
) -> LogBatch:
    events = database.events[point.position : point.position + limit]
    after = database.point_at(min(point.position + len(events), database.head))
    assert after is not None
    return LogBatch(events=events, point=after)


def accept_a_moved_guard(database: MemoryDatabase, fence: Fence | None, session: object) -> str:
    row = database.partitions.get(fence.partition) if fence else None
    if fence is not None and row is not None:
        fence = replace(fence, guard=row.guard)
    return Unchecked.fence_conflict(database, fence, session)


def accept_any_version(*_: object) -> str:
    return ""


def remember_no_timer(
    session: MemoryPartitionSession, *, idle_position: int, **_: Instant | None
) -> None:
    Unchecked.commit_idle(session, idle_position=idle_position, next_due=None)


def commit_without_timer(
    session: MemoryPartitionSession, units: list[AppendUnit], **_: Instant | None
) -> list[Verdict]:
    return Unchecked.commit_decisions(session, units, next_due=None)


def look_past_events(
    session: MemoryPartitionSession, *, idle_position: int, next_due: Instant | None
) -> None:
    Unchecked.commit_idle(session, idle_position=idle_position + 3, next_due=next_due)


def accept_any_configuration(
    database: MemoryDatabase, unit: AppendUnit, ahead: Sequence[AppendUnit]
) -> str:
    return Unchecked.conflict(database, replace(unit, config_position=None), ahead)


def accept_plans_of_any_configuration(
    database: MemoryDatabase, unit: AppendUnit, ahead: Sequence[AppendUnit]
) -> str:
    if unit.fence is not None:
        unit = replace(unit, config_position=None)
    return Unchecked.conflict(database, unit, ahead)


def accept_a_missing_row(database: MemoryDatabase, fence: Fence | None, session: object) -> str:
    if fence is None or fence.partition not in database.partitions:
        return ""
    return Unchecked.fence_conflict(database, fence, session)


def take_any_shape(
    partitions: MemoryPartitions, keys: Sequence[str], config_position: int, past: LogPoint
) -> None:
    partitions._database.reshaped_position = -1  # noqa: SLF001
    Unchecked.sync_partitions(partitions, keys, config_position, past)


def fold_in_any_order(*_: object) -> bool:
    return True


AFTER_PLANS = range(1, 41, 2)
"""Days on which something happens between a plan and its commit."""
OF_LAGGING_PROCESSES = range(10, 90, 4)
IN_CALM = range(0, 80, 4)
BROKEN_RULES: dict[str, tuple[range, tuple[tuple[Any, str, Any], ...]]] = {
    "the guard of a partition is not compared": (
        AFTER_PLANS,
        ((MemoryDatabase, "_fence_conflict", accept_a_moved_guard),),
    ),
    "versions of streams are not compared": (
        AFTER_PLANS,
        ((MemoryDatabase, "_conflict", accept_any_version),),
    ),
    "a lost past is not noticed": (
        AFTER_PLANS,
        (
            (MemoryDatabase, "refusal", refuse_no_lost_past),
            (MemoryDatabase, "batch_after", read_on_without_comparing),
        ),
    ),
    "timers are forgotten": (
        AFTER_PLANS,
        (
            (MemoryPartitionSession, "commit_idle", remember_no_timer),
            (MemoryPartitionSession, "commit_decisions", commit_without_timer),
        ),
    ),
    "events are taken for seen before they come": (
        AFTER_PLANS,
        ((MemoryPartitionSession, "commit_idle", look_past_events),),
    ),
    "the configuration is not compared": (
        OF_LAGGING_PROCESSES,
        ((MemoryDatabase, "_conflict", accept_any_configuration),),
    ),
    "the append does not compare the past": (
        OF_LAGGING_PROCESSES,
        ((MemoryDatabase, "refusal", refuse_no_lost_past),),
    ),
    "an older shape replaces a newer one": (
        OF_LAGGING_PROCESSES,
        ((MemoryPartitions, "sync_partitions", take_any_shape),),
    ),
    "events of others are folded late in any order": (
        OF_LAGGING_PROCESSES,
        ((ClusterState, "may_come_after", fold_in_any_order),),
    ),
    "plans are taken for partitions that are no more": (
        OF_LAGGING_PROCESSES,
        (
            (MemoryDatabase, "_fence_conflict", accept_a_missing_row),
            (MemoryDatabase, "_conflict", accept_plans_of_any_configuration),
        ),
    ),
    "lost rows of partitions are not made again": (
        IN_CALM,
        ((tests.simulation.cluster, "synced_agenda", sync_partitions),),
    ),
}
"""By the days that show it."""


SHOWN_LATE = (
    "versions of streams are not compared",
    "events are taken for seen before they come",
    "plans are taken for partitions that are no more",
    "the configuration is not compared",
)
"""Shown by the fourth day or later."""


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(name, marks=pytest.mark.nightly) if name in SHOWN_LATE else name
        for name in BROKEN_RULES
    ],
)
def test_days_show_a_rule_of_the_log_that_is_broken(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, replaced = BROKEN_RULES[broken]
    for owner, name, wrong in replaced:
        monkeypatch.setattr(owner, name, wrong)

    with pytest.raises(AssertionError):
        run_days(seeds)


@pytest.mark.nightly
def test_days_without_rows_hold_by_the_configuration_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A partition ends by a change of the configuration, which every plan is bound to.

    So a plan for one that is no more is refused without its row as well. The row is found where
    epoch and guard are compared, and says why.
    """
    monkeypatch.setattr(MemoryDatabase, "_fence_conflict", accept_a_missing_row)

    run_days(OF_LAGGING_PROCESSES)


@pytest.mark.nightly
def test_days_without_locks_hold_by_the_fence_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is written only at the epoch and guard that it was made at, whichever worker it is.

    So leaving the lock out changes how often plans conflict, and no decision. The epoch is held by
    an example of `tests/workers/test_concurrent_appends.py`.
    """
    try_lock, judged = MemoryPartitions.try_lock, Unchecked.fence_conflict

    def always_lock(
        partitions: MemoryPartitions, key: str, owner: str
    ) -> MemoryPartitionSession | None:
        partitions.break_session(key)
        return try_lock(partitions, key, owner)

    def ask_no_holder(database: MemoryDatabase, fence: Fence | None, _: object) -> str:
        return judged(database, fence, database.sessions.get(fence.partition) if fence else None)

    monkeypatch.setattr(MemoryPartitions, "try_lock", always_lock)
    monkeypatch.setattr(MemoryDatabase, "_fence_conflict", ask_no_holder)
    monkeypatch.setattr(MemoryPartitionSession, "_require_session", lambda _: None)

    run_days(OF_LAGGING_PROCESSES)


def run_days(seeds: range) -> None:
    for seed in seeds:
        run_day(seed, steps=120)
