"""No inadmissible workload would be served by a full evaluation."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.scheduling.pending_reasons import current_reason
from headgate.domain.workloads.events import WorkloadFinished
from headgate.domain.workloads.state import phase_of
from tests.builders.cohorts import policies
from tests.builders.world import World, quotas

QUEUES = ("left", "right", "top")
STILL_TO_COME = {"PendingEvaluation", "RoundDraining", "Requeueing"}
RULES = st.builds(
    policies,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.sampled_from([None, "any"]),
)


@dataclass(frozen=True)
class Queue:
    """The nominal quota of a ClusterQueue by flavor, and its preemption policy."""

    spot: int
    reserved: int
    rules: Any


A_QUEUE = st.builds(Queue, st.integers(0, 4), st.integers(0, 4), RULES)
ACTS = st.one_of(
    st.tuples(
        st.just("submit"), st.sampled_from(QUEUES), st.sampled_from([1, 2, 4]), st.integers(0, 2)
    ),
    st.tuples(st.sampled_from(["stop", "end"]), st.integers(0, 9)),
)


@given(st.tuples(A_QUEUE, A_QUEUE, A_QUEUE), st.lists(ACTS, min_size=4, max_size=16))
def test_at_rest_no_workload_awaits_evaluation(
    queues: tuple[Queue, ...], acts: list[tuple[Any, ...]]
) -> None:
    world = World()
    for flavor in ("spot", "reserved"):
        world.flavor(flavor)
    for name, queue in zip(QUEUES, queues, strict=True):
        given_quotas = quotas(spot=queue.spot, reserved=queue.reserved)
        world.cluster_queue(name, given_quotas, cohort_name="all", preemption=queue.rules)
    for number, act in enumerate(acts):
        happen(world, number, act)
        world.wait(1)
        world.settle()
        assert overlooked(world) == {}


def happen(world: World, number: int, act: tuple[Any, ...]) -> None:
    """A submit, or the end of a pod that was told to go, or of a workload."""
    if act[0] == "submit":
        _, queue, size, priority = act
        world.submit(f"w{number}", queue, {"gpu": size}, priority=priority)
        return
    known = sorted(world.cluster_state.workloads.items())
    keys = [
        key
        for key, found in known
        if (found.eviction is not None if act[0] == "stop" else found.finished_at is None)
    ]
    if not keys:
        return
    key = keys[act[1] % len(keys)]
    if act[0] == "stop":
        world.stop(key)
    else:
        world.record(f"workload/{key}", WorkloadFinished(reason="Cancelled"))


def overlooked(world: World) -> dict[str, str]:
    """The pending workloads with the reason PendingEvaluation."""
    told = {
        key: current_reason(world.cluster_state, workload, world.at)
        for key, workload in sorted(world.cluster_state.workloads.items())
        if phase_of(workload) == "Pending"
    }
    return {
        key: found.reason_message.code
        for key, found in told.items()
        if found is not None and found.dominant in STILL_TO_COME
    }
