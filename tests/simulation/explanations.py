"""`python -m tests.simulation.explanations`: does every pending workload say why, and truly so?

A day of submits, preemption, holds and lost hosts; at random positions every explanation is held
against an independent reckoning.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from random import Random

from headgate.domain.cell import Cell
from headgate.domain.scheduling.waiting import explain_now
from headgate.domain.values.instants import Instant
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload, phase_of
from tests.simulation.cluster import Cluster
from tests.simulation.life import install, step
from tests.simulation.reckoning import GPU, Reckoning, best_empty_rack, reckon

WAITING = {"Pending", "Nominated", "BackingOff", "Held", "Inactive"}
COMPETING = {"Pending", "Nominated"}
SAYS_NO_ROOM = {
    "WaitingForQuota",
    "ExceedsMaxQuota",
    "TopologyPlacementFailed",
    "WaitingForHosts",
}
REASON_OF_STATE = {"BackingOff": "BackingOff", "Held": "OnHold", "Inactive": "Deactivated"}
Views = tuple[Reckoning, Reckoning, Reckoning]
"""What is free now, once all who leave have left, and in both: a sentence may speak of any."""

KEPT_FINISHED = 300
REBUILD_EVERY = 5_000
"""What takes long is done less often in a day this long."""


class Checker:
    """Counts explanations by dominant reason, and keeps what contradicts the reckoning."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.contradictions: list[str] = []

    def look_at(self, cell: Cell, at: Instant) -> None:
        """Hold every pending workload's explanation against the truth at one position."""
        now = reckon(cell, projected=False)
        for key, workload in sorted(cell.workloads.items()):
            if phase_of(workload) not in WAITING:
                continue
            found = explain_now(cell, workload, at)
            if found is None or not found.sentence or not found.dominant:
                self._contradict(cell, key, "it waits and nobody says why")
                continue
            self.checked[found.dominant] += 1
            later = reckon(cell, projected=True, without=key)
            for what in _wrong(cell, workload, found, (now, later, now.both(later))):
                self._contradict(cell, key, f"{found.dominant}: {what}")

    def _contradict(self, cell: Cell, key: str, what: str) -> None:
        self.contradictions.append(f"at {cell.position} {key}: {what}")


def _wrong(cell: Cell, workload: Workload, found: Explanation, views: Views) -> Iterator[str]:
    """Everything in an explanation that is not so."""
    yield from _wrong_state(cell, workload, found)
    yield from _wrong_order(cell, workload, found)
    fits = _fits(workload, views[-1])
    if found.dominant in SAYS_NO_ROOM and fits:
        yield "by all accounts there is room"
    if found.dominant == "PendingEvaluation" and "fits now" in found.sentence and not fits:
        yield "it is said to fit and does not"
    for blocker in found.blockers:
        yield from _wrong_numbers(cell, workload, blocker, views)


def _wrong_state(cell: Cell, workload: Workload, found: Explanation) -> Iterator[str]:
    phase = phase_of(workload)
    wanted = REASON_OF_STATE.get(phase)
    if wanted is not None and found.dominant not in {wanted, "Ending"}:
        yield f"it is {phase}"
    if wanted is None and found.dominant in REASON_OF_STATE.values():
        yield f"it is {phase}"
    queue = cell.config.cluster_queues[workload.spec.queue_name]
    is_stopped = queue.spec.stop_policy != "None"
    if phase == "Pending" and is_stopped != (found.dominant == "Stopped"):
        yield f"its queue is {'' if is_stopped else 'not '}stopped"


def _wrong_order(cell: Cell, workload: Workload, found: Explanation) -> Iterator[str]:
    if found.dominant != "BehindHead":
        return
    if cell.config.cluster_queues[workload.spec.queue_name].spec.queueing_strategy != "StrictFIFO":
        yield "its queue is not strict"
    others = [
        other
        for other in cell.workloads.values()
        if other.spec.queue_name == workload.spec.queue_name
        and phase_of(other) in {"Pending", "Nominated"}
    ]
    first = min(others, key=lambda one: (-one.spec.priority, one.created_at, one.key))
    if first.key == workload.key:
        yield "nobody is before it"
    if found.blockers[0].held_by != (first.key,):
        yield f"the first is {first.key}, not {found.blockers[0].held_by}"


def _fits(workload: Workload, room: Reckoning) -> bool:
    queue = workload.spec.queue_name
    on_hosts = queue in {"batch", "tight"}
    (pod_set,) = workload.spec.pod_sets
    if _total(pod_set) > room.free[queue]:
        return False
    return not on_hosts or room.can_place(pod_set)


def _wrong_numbers(cell: Cell, workload: Workload, blocker: Blocker, views: Views) -> Iterator[str]:
    if blocker.need is None or blocker.have is None:
        return
    if blocker.short_by != blocker.need - blocker.have or blocker.short_by <= 0:
        yield f"{blocker.need} - {blocker.have} is not {blocker.short_by}"
    (pod_set,) = workload.spec.pod_sets
    if blocker.reason == "WaitingForQuota":
        free = views[-1].free[workload.spec.queue_name]
        if (blocker.need, blocker.have) != (_total(pod_set), max(0, free)):
            yield f"need {_total(pod_set)}, have {free} by recount, told {blocker.message}"
        yield from _wrong_holders(cell, blocker)
    if blocker.type == "Topology" and blocker.domain:
        best = {view.best_rack(pod_set) for view in views}
        if (at_most := best_empty_rack(cell, pod_set)) < pod_set.count:
            # Nobody's leaving would help, and the sentence says how far empty hosts would go.
            best.add(at_most)
        if blocker.have not in best:
            yield f"the best rack has room for {best}, told {blocker.message}"


def _wrong_holders(cell: Cell, blocker: Blocker) -> Iterator[str]:
    for key in blocker.held_by:
        holder = cell.workloads[key]
        given = holder.admission
        if given is None or holder.finished_at is not None:
            yield f"{key} holds nothing"
        elif not any(GPU in assigned.resource_usage for assigned in given.pod_set_assignments):
            yield f"{key} holds no {GPU}"


def _total(pod_set: PodSet) -> int:
    return pod_set.count * pod_set.scheduling.requests.get(GPU, 0)


def live_and_check(seed: int, workloads: int, positions: int) -> Checker:
    """A day of so many workloads, looked at about so many times while it goes on."""
    cluster, checker, chance = Cluster(seed), Checker(), Random(seed)
    cluster.witness.rebuild_every = REBUILD_EVERY
    install(cluster)
    steps = workloads * 5
    while cluster.submitted < workloads:
        step(cluster)
        if chance.random() < positions / steps:
            checker.look_at(cluster.witness.cell, cluster.now)
        _tidy(cluster)
    return checker


def _tidy(cluster: Cluster) -> None:
    """Let go of finished workloads, as retention does, and of the oldest that nobody serves."""
    known = cluster.witness.cell.workloads
    if len(known) <= KEPT_FINISHED:
        return
    for key in sorted(known, key=lambda key: known[key].created_at)[: len(known) // 4]:
        cluster.order(key, c.DeleteWorkload(eviction=f"tidy-{key}"))


def main() -> None:
    """The whole day, and what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.explanations")
    parser.add_argument("--workloads", type=int, default=20_000)
    parser.add_argument("--positions", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    checker = live_and_check(options.seed, options.workloads, options.positions)
    for line in checker.contradictions[:50]:
        print(line)  # noqa: T201 - talk
    total = sum(checker.checked.values())
    wrong = len(checker.contradictions)
    print(f"{total} explanations, {wrong} contradictions: {dict(checker.checked)}")  # noqa: T201
    raise SystemExit(bool(checker.contradictions))


if __name__ == "__main__":
    main()
