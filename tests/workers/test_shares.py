"""Which partitions a worker schedules, and what its fold keeps while they change hands."""

import weakref
from typing import Any

from msgspec import structs

from headgate.application.live_state import LiveState
from headgate.application.ports import Agenda, PartitionRow
from headgate.application.run_partition import OTHERS_IDLE_SECONDS, Scheduler, sweep
from headgate.application.scheduling_cycles import (
    NEGLECTED_SECONDS,
    STARVED_SECONDS,
    Shares,
    presence_of,
)
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION, shared_out
from tests.contracts.adapters import Adapters
from tests.workers.cluster import admitted, cluster, record, submitted
from tests.workers.scheduler_runs import CountedIds

QUEUES = ("a", "b", "c", "d")
KEYS = [INSTALLATION, *(f"clusterqueue/{name}" for name in QUEUES)]


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.seconds = 1.0

    def __call__(self) -> float:
        return self.seconds


def test_partitions_stay_with_their_workers_and_are_about_equally_many() -> None:
    first = shared_out(KEYS, {}, ["x", "y"])
    assert sorted(map(len, first.values())) == [2, 3]

    owners = {key: worker for worker, keys in first.items() for key in keys}
    assert shared_out(KEYS, owners, ["y", "x"]) == first

    more = shared_out(KEYS, owners, ["x", "y", "z"])
    assert sorted(map(len, more.values())) == [1, 2, 2]
    assert more["x"] <= first["x"]
    assert more["y"] <= first["y"]

    assert shared_out(KEYS, owners, ["x"]) == {"x": frozenset(KEYS)}
    assert shared_out([], {}, ["x"]) == {"x": frozenset()}


def test_two_partitions_have_a_worker_each_wherever_installation_is() -> None:
    keys = (INSTALLATION, "a", "b")
    for owners in ({}, {INSTALLATION: "y", "a": "x"}, dict.fromkeys(keys, "x"), {"b": "y"}):
        shares = shared_out(keys, owners, ["x", "y"])
        assert sorted(len(share - {INSTALLATION}) for share in shares.values()) == [1, 1]


def test_installation_stays_where_it_is_when_a_worker_comes() -> None:
    owners = dict.fromkeys(KEYS, "x")
    assert INSTALLATION in shared_out(KEYS, owners, ["x", "y"])["x"]


def test_a_worker_holds_its_share_and_takes_over_what_is_given_up(adapters: Adapters) -> None:
    record(adapters.log, *cluster(*QUEUES))
    names = ["one", "two"]
    present = {presence_of(name) for name in names}
    clock = Clock()
    workers = {name: _scheduler(adapters, name, clock, present) for name in names}
    for worker in workers.values():
        sweep(worker, frozenset(), lambda: False)
    record(adapters.log, *(submitted(f"job-{queue}", queue) for queue in QUEUES))
    for worker in workers.values():
        sweep(worker, frozenset(), lambda: False)
    assert len(admitted(adapters.log)) == len(QUEUES)

    shares = {name: worker.live.share for name, worker in workers.items()}
    assert all(share is not None for share in shares.values())
    whole = next(name for name, share in shares.items() if share and INSTALLATION in share)
    scoped = next(name for name in names if name != whole)
    live = workers[scoped].live
    live.catch_up_with_log()
    own = {f"team/job-{key.partition('/')[2]}" for key in shares[scoped] or ()}
    assert set(live.cluster_state.workloads) == own
    assert not live.keep()
    workers[whole].live.catch_up_with_log()
    assert len(workers[whole].live.cluster_state.workloads) == len(QUEUES)

    # The other one goes: all of it is taken over.
    present.discard(presence_of(whole))
    clock.seconds += 2
    record(adapters.log, *(submitted(f"more-{queue}", queue) for queue in QUEUES))
    sweep(workers[scoped], frozenset(), lambda: False)
    assert len(admitted(adapters.log)) == 2 * len(QUEUES)
    assert len(live.cluster_state.workloads) == 2 * len(QUEUES)


def test_the_partitions_of_a_worker_that_hangs_are_taken_over(adapters: Adapters) -> None:
    record(adapters.log, *cluster(*QUEUES))
    present = {presence_of("one"), presence_of("hangs")}
    clock = Clock()
    worker = _scheduler(adapters, "one", clock, present)
    sweep(worker, frozenset(), lambda: False)
    record(adapters.log, *(submitted(f"job-{queue}", queue) for queue in QUEUES))
    clock.seconds += 2
    sweep(worker, frozenset(), lambda: False)
    assert 0 < len(admitted(adapters.log)) < len(QUEUES)

    for _ in range(int(NEGLECTED_SECONDS) + 2):
        clock.seconds += 1
        sweep(worker, frozenset(), lambda: False)
    assert len(admitted(adapters.log)) == len(QUEUES)


def test_a_fold_of_everything_leaves_the_memory_when_another_worker_comes(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster(*QUEUES))
    present = {presence_of("one")}
    clock = Clock()
    sweep(_scheduler(adapters, "two", clock, set()), frozenset(), lambda: False)
    worker = _scheduler(adapters, "one", clock, present)
    sweep(worker, frozenset(), lambda: False)
    before = weakref.ref(worker.live.cluster_state)

    present.add(presence_of("two"))
    clock.seconds += 2
    sweep(worker, frozenset(), lambda: False)
    assert worker.live.share
    assert INSTALLATION not in worker.live.share
    assert worker.live.cluster_state.workloads == {}
    assert before() is None


def test_the_worker_that_holds_everything_loads_nothing_when_shares_change(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster(*QUEUES))
    present = {presence_of("one")}
    clock = Clock()
    worker = _scheduler(adapters, "one", clock, present)
    sweep(worker, frozenset(), lambda: False)
    before, share = worker.live.cluster_state, worker.live.share
    assert share is None

    present.add(presence_of("two"))
    clock.seconds += 2
    sweep(worker, frozenset(), lambda: False)
    assert worker.live.share
    assert INSTALLATION in worker.live.share
    assert worker.live.cluster_state is before
    present.remove(presence_of("two"))
    clock.seconds += 2
    record(adapters.log, *(submitted(f"job-{queue}", queue) for queue in QUEUES))
    sweep(worker, frozenset(), lambda: False)
    assert len(admitted(adapters.log)) == len(QUEUES)
    assert worker.live.cluster_state is before


def test_a_worker_that_lost_its_presence_keeps_its_share_while_it_connects_again(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster(*QUEUES))
    present = {presence_of("one"), presence_of("two")}
    clock = Clock()
    worker = _scheduler(adapters, "two", clock, present)
    sweep(worker, frozenset(), lambda: False)
    share, before = worker.live.share, worker.live.cluster_state
    assert share
    present.clear()
    for _ in range(2):
        clock.seconds += 2
        sweep(worker, frozenset(), lambda: False)
        assert worker.live.share == share
        assert worker.live.cluster_state is before
    clock.seconds += 2
    sweep(worker, frozenset(), lambda: False)
    assert worker.live.share is None


class Rows:
    """Partitions that all have work; a test says which worker has planned one last."""

    def __init__(self, owners: dict[str, str]) -> None:
        self.known = {
            key: PartitionRow(
                key=key,
                last_position=1,
                idle_position=0,
                guard=0,
                epoch=1,
                next_due=None,
                owner=owner,
            )
            for key, owner in owners.items()
        }

    def plan(self, key: str, owner: str) -> None:
        row = self.known[key]
        self.known[key] = structs.replace(row, owner=owner, epoch=row.epoch + 1)

    def rows(self) -> list[PartitionRow]:
        return list(self.known.values())

    def agenda(self) -> Agenda:
        return Agenda(now=0, due=list(self.known), next_due=None, synced_position=0)


def test_a_worker_with_long_turns_at_many_partitions_is_not_taken_for_absent() -> None:
    rows: Any = Rows({"a": "one", "b": "one", "c": "other", "d": "other"})
    shares = Shares(lambda: {presence_of("one"), presence_of("other")})
    for seconds in range(int(3 * NEGLECTED_SECONDS)):
        if seconds % 20 == 0:
            rows.plan("c", "other")
        assert set(shares.share_of("one", rows, float(seconds)) or ()) == {"a", "b"}


def test_what_a_worker_takes_over_stays_when_the_next_worker_comes(adapters: Adapters) -> None:
    record(adapters.log, *cluster(*QUEUES))
    sweep(_scheduler(adapters, "gone", Clock(), set()), frozenset(), lambda: False)
    assert {row.owner for row in adapters.partitions.rows()} == {"gone"}
    present = {presence_of("one"), presence_of("two")}
    workers = [_scheduler(adapters, name, Clock(), present) for name in ("one", "two")]
    for worker in workers:
        sweep(worker, frozenset(), lambda: False)
    shares = {worker.owner: worker.live.share for worker in workers}
    for row in adapters.partitions.rows():
        assert row.key in (shares[row.owner] or ())
    epochs = {row.key: row.epoch for row in adapters.partitions.rows()}
    for worker in workers:
        sweep(worker, frozenset(), lambda: False)
    assert {row.key: row.epoch for row in adapters.partitions.rows()} == epochs

    holds = next(name for name, share in shares.items() if share and INSTALLATION in share)
    present.add(presence_of("three"))
    sweep(_scheduler(adapters, "three", Clock(), present), frozenset(), lambda: False)
    rows = {row.key: row.owner for row in adapters.partitions.rows()}
    assert rows[INSTALLATION] == holds
    assert "three" in rows.values()


def test_a_worker_that_did_not_look_for_long_takes_none_for_absent() -> None:
    rows: Any = Rows({"a": "one", "b": "one", "c": "other", "d": "other"})
    shares = Shares(lambda: {presence_of("one"), presence_of("other")})
    for seconds in (0.0, 1.0, 1.0 + 2 * NEGLECTED_SECONDS, 3.0 + 2 * NEGLECTED_SECONDS):
        assert set(shares.share_of("one", rows, seconds) or ()) == {"a", "b"}


def test_what_a_worker_starves_that_plans_other_partitions_is_taken_over_at_last() -> None:
    rows: Any = Rows({"a": "one", "b": "one", "c": "other", "d": "other"})
    shares = Shares(lambda: {presence_of("one"), presence_of("other")})
    found = set[str]()
    for seconds in range(int(STARVED_SECONDS) + 5):
        rows.plan("c", "other")
        found |= shares.share_of("one", rows, float(seconds)) or set()
    assert "d" in found


def test_a_worker_that_hangs_is_given_nothing_until_it_plans() -> None:
    rows: Any = Rows({"a": "one", "b": "one", "c": "hangs", "d": "hangs"})
    shares = Shares(lambda: {presence_of("one"), presence_of("hangs")})
    unplanned = 0
    for seconds in range(3_600):
        share = shares.share_of("one", rows, float(seconds)) or frozenset()
        unplanned += len(share) < len(rows.known)
        for key in share:
            rows.plan(key, "one")
    assert unplanned <= NEGLECTED_SECONDS + 2

    rows.plan("c", "hangs")
    assert len(shares.share_of("one", rows, 3_601.0) or ()) == 2


def test_a_timer_of_another_worker_that_has_come_does_not_keep_one_spinning(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster(*QUEUES))
    clock = Clock()
    present = {presence_of("one"), presence_of("hangs")}
    worker = _scheduler(adapters, "one", clock, present)
    sweep(worker, frozenset(), lambda: False)
    clock.seconds += 2
    for key in set(KEYS) - set(worker.live.share or ()):
        adapters.partitions.halt(key, position=1, failure="", retry_at=adapters.log.now())
    assert sweep(worker, frozenset(), lambda: False).idle_seconds >= OTHERS_IDLE_SECONDS


def _scheduler(adapters: Adapters, name: str, clock: Clock, present: set[str]) -> Scheduler:
    live = LiveState(adapters.log, adapters.state_cache, clock)
    return Scheduler(
        partitions=adapters.partitions,
        live=live,
        ids=CountedIds(name),
        owner=name,
        elapsed=clock,
        report=_fail,
        shares=Shares(lambda: present),
    )


def _fail(partition: str, failure: Exception) -> None:
    raise AssertionError(f"{partition} cannot be planned") from failure
