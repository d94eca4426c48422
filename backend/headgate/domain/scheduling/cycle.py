"""One admission cycle of one partition as a function: state and time in, decisions out.

1. Keep house: what follows from time and state alone (timers, stops, rounds, deletions).
2. Heads: the first competitor of each ClusterQueue.
3. Nominate: look at each against the state as it is (flavors, places, victims).
4. Order: those who borrow least first, then by priority, then by age.
5. Admit, start a round, or record why not, one after the other, each on the state the one before
   it left.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.domain.cell import Cell
from headgate.domain.config import Config
from headgate.domain.scheduling.admission import admit, lose_place, start_round, wait
from headgate.domain.scheduling.answers import Mode
from headgate.domain.scheduling.evaluation import Evaluation, evaluate, still_fits
from headgate.domain.scheduling.housekeeping import keep_house, next_due
from headgate.domain.scheduling.ordering.order import Order, order_of
from headgate.domain.scheduling.run import CycleRun, Decision
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant

__all__ = ["Decision", "Plan", "plan_cycle"]

ROUND_TTL_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Plan:
    """What a cycle decided, in order; none means that nothing is to be done at this position.

    `next_due` is when time alone will make something due. `looked_at` counts evaluations.
    """

    decisions: tuple[Decision, ...]
    next_due: Instant | None
    looked_at: int = 0


def plan_cycle(
    cell: Cell,
    partition_key: str,
    at: Instant,
    cycle_id: str,
    *,
    round_ttl_seconds: int = ROUND_TTL_SECONDS,
) -> Plan:
    """Decide what is next in a partition at `at`.

    `cell` must be in a trial; the decisions stay assumed in it, so that the next cycle can be
    planned on top and everything is undone, or kept, with the trial. The same cell, instant and
    cycle id give the same plan.
    """
    assert cell.in_trial, "a cycle is planned inside a trial"
    run = CycleRun(cell, partition_key, at, cycle_id, round_ttl_seconds)
    keep_house(run)
    while evaluations := _nominate(run):
        for evaluation in evaluations:
            _settle(run, evaluation)
        if run.decisions:
            break
    return Plan(tuple(run.decisions), next_due(run), run.looked_at)


def in_turn(config: Config, found: Iterable[Evaluation]) -> list[Evaluation]:
    """Who borrows from nearest first, then by priority, then by age (queueing.md §3.7)."""

    def turn(evaluation: Evaluation) -> tuple[int, Order]:
        spec = config.cluster_queues[evaluation.cluster_queue].spec
        return evaluation.level, order_of(evaluation.workload, spec)

    return sorted(found, key=turn)


def _nominate(run: CycleRun) -> list[Evaluation]:
    """Look at the first competitor of every queue; the most deserving first."""
    partition = run.partition
    found = []
    for name in partition.cluster_queues:
        key = run.partition.pending[name].head()
        if key is not None:
            evaluation = _look_at(run, key)
            while evaluation is None and (key := run.partition.pending[name].head()) is not None:
                evaluation = _look_at(run, key)
            if evaluation is not None:
                found.append(evaluation)
    return in_turn(run.cell.config, found)


def _look_at(run: CycleRun, key: str) -> Evaluation | None:
    """One look; a workload that cannot be judged is put aside with the reason."""
    run.looked_at += 1
    try:
        return evaluate(run.partition, run.cell.workloads, run.cell.workloads[key])
    except Exception as error:  # noqa: BLE001 - one poison object must not stop all others
        run.cell.put_aside(workload_stream(key), f"{type(error).__name__}: {error}")
        return None


def _settle(run: CycleRun, evaluation: Evaluation) -> None:
    """Decide on one, after another look if those before it have changed what it saw."""
    current = _up_to_date(run, evaluation)
    if current is None:
        return
    if current.mode == Mode.FIT:
        admit(run, current)
    elif current.lost_place:
        lose_place(run, current)
    elif current.mode == Mode.PREEMPT:
        start_round(run, current)
    else:
        wait(run, current)


def _up_to_date(run: CycleRun, evaluation: Evaluation) -> Evaluation | None:
    workload = evaluation.workload
    if not run.decisions or evaluation.mode == Mode.NO_FIT:
        return evaluation
    if evaluation.mode == Mode.FIT and workload.round_id is None:
        return evaluation if still_fits(run.partition, evaluation) else _look_at(run, workload.key)
    return _look_at(run, workload.key)
