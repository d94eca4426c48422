"""What holds in every tree and history: nothing overdrawn or forgotten, no order by chance."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.fair_sharing_orders import local_queue_ranks, order_entries
from headgate.domain.scheduling.ordering.pending_places import EquivalenceClass
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.usage import add_usage, available, empty_usage
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.events import WorkloadQuotaReserved
from tests.builders.world import World
from tests.properties.trees import (
    STEPS,
    TREES,
    WISHES,
    Step,
    Tree,
    Wish,
    change_quota,
    installed,
    submit,
    submit_one,
)

MAX_CYCLES = 200


@given(TREES, STEPS)
def test_histories_in_random_trees(tree: Tree, steps: list[Step]) -> None:
    world = installed(tree)
    for number, step in enumerate(steps):
        _happens(world, tree, step, number)
        for key in world.cluster_state.partition_keys():
            _run(world, key)
        _is_settled(world)


@given(TREES, WISHES, st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order_of_registration(
    tree: Tree, wishes: list[Wish], chance: object
) -> None:
    numbered = list(enumerate(wishes))
    shuffled = list(numbered)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    outcomes = []
    for order in (numbered, shuffled):
        world = installed(tree)
        for number, wish in order:
            submit_one(world, tree, wish, number)
        world.settle()
        outcomes.append(
            {key: world[key].admission for key in sorted(world.cluster_state.workloads)}
        )
    assert outcomes[0] == outcomes[1]


def _happens(world: World, tree: Tree, step: Step, number: int) -> None:
    submit(world, tree, step.wishes, number * 100)
    world.wait(step.seconds)
    admitted = world.admitted()
    if admitted and step.finished % 2:
        world.finish(admitted[step.finished % len(admitted)])
    if step.quota is not None:
        change_quota(world, tree, step.quota)
    for key in world.cluster_state.partition_keys():
        _usage_adds_up(world.cluster_state, world.cluster_state.partition(key))


def _run(world: World, key: str) -> None:
    """Cycles until nothing is decided, each judged."""
    cluster_state = world.cluster_state
    with cluster_state.overlay() as overlay:
        for number in range(MAX_CYCLES):
            deserving = _most_deserving(world, key)
            plan = plan_cycle(cluster_state, key, world.at, f"{cluster_state.position}-{number}")
            reserved = [
                stream.removeprefix("workload/")
                for decision in plan.decisions
                for stream, event in decision.events
                if isinstance(event, WorkloadQuotaReserved)
            ]
            assert deserving is None or deserving in reserved, f"{deserving} fits, heads its order"
            for workload in reserved:
                _was_allowed(cluster_state, workload)
            _usage_adds_up(cluster_state, cluster_state.partition(key))
            if not plan.decisions:
                break
        else:
            raise AssertionError("it never settles")
        overlay.keep(cluster_state.position)


def _most_deserving(world: World, key: str) -> str | None:
    """The workload that the next cycle must admit: the first in order with a request.

    One before it that does not fit keeps what it could have from those after it, for that cycle.
    """
    partition = world.cluster_state.partition(key)
    found = [one for name in partition.cluster_queues for one in _nominated(world, key, name)]
    wanting = [one for one in found if one.mode == Mode.FIT or one.admission_if_empty is not None]
    first = next(order_entries(partition, wanting), None)
    return first.workload.key if first is not None and first.mode == Mode.FIT else None


def _nominated(world: World, key: str, cluster_queue: str) -> Iterator[Evaluation]:
    """The first admissible workload of a queue, if there is one; alike ones fail alike."""
    cluster_state, partition = world.cluster_state, world.cluster_state.partition(key)
    line = partition.pending[cluster_queue]
    failed: list[EquivalenceClass] = []
    for waiting in line.in_order(local_queue_ranks(cluster_state, cluster_queue, world.at)):
        if waiting not in line.in_heap or line.in_heap[waiting].equivalence_class in failed:
            continue
        found = evaluate(partition, cluster_state.workloads, cluster_state.workloads[waiting])
        if found.workload.explanation is None or found.mode in {Mode.FIT, Mode.PREEMPT}:
            yield found
            return
        if line.strict:
            return
        failed.append(line.in_heap[waiting].equivalence_class)


def _is_settled(world: World) -> None:
    """No admissible workload fits: no requeue was lost."""
    cluster_state = world.cluster_state
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        for name, line in partition.pending.items():
            first = line.first(local_queue_ranks(cluster_state, name, world.at))
            for waiting in (first,) if line.strict and first else line.in_heap:
                found = evaluate(
                    partition, cluster_state.workloads, cluster_state.workloads[waiting]
                )
                assert found.mode != Mode.FIT, f"{waiting} fits and waits"


def _usage_adds_up(cluster_state: ClusterState, partition: Partition) -> None:
    """Usage kept by increments equals usage counted from reservations."""
    for view in (ACTUAL, PROJECTED):
        counted = empty_usage(partition.tree)
        for name in partition.cluster_queues:
            for workload in partition.charges.holding[name]:
                charge = partition.charges.held_by(cluster_state.workloads[workload])
                add_usage(partition.tree, counted, f"clusterqueue/{name}", charge.amounts)
        assert counted == partition.usage[view]


def _was_allowed(cluster_state: ClusterState, workload: str) -> None:
    """Without it there was room for it, and with it no node is beyond what it may use."""
    found = cluster_state.workloads[workload]
    partition = cluster_state.partition(cluster_state.partition_of_workload(found))
    charge = partition.charges.held_by(found)
    node = f"clusterqueue/{charge.cluster_queue}"
    partition.charges.release(ACTUAL, charge)
    try:
        for key, amount in charge.amounts.items():
            assert amount <= available(partition.tree, partition.usage[ACTUAL], node, key)
    finally:
        partition.charges.acquire(ACTUAL, charge)
