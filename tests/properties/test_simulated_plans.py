"""What flavors were chosen by is what happens: the plan for one resource alone is searched once."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.configuration import FairSharing
from headgate.domain.scheduling.evaluation.workload_evaluator import preemption_oracle
from headgate.domain.scheduling.flavors.assignment import FlavorAssignment, PodSetFlavors
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.topology_assignment import PlacementDemand
from headgate.domain.scheduling.preemption.targets import PreemptionContext, find_victims
from headgate.domain.scheduling.quota.usage import QuotaView
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.state import Workload
from tests.builders.world import World, quotas
from tests.properties.test_rounds import POLICIES, QUEUES

GPU = ("default", "gpu")
ASKS = st.lists(
    st.tuples(st.sampled_from(QUEUES), st.integers(1, 4), st.integers(0, 4)), max_size=10
)


def crowded(policies: list[object], nominal: list[int], *, fair: bool) -> World:
    world = World()
    world.configure(fair_sharing=FairSharing() if fair else None)
    world.flavor("default")
    for name, preemption, amount in zip(QUEUES, policies, nominal, strict=True):
        world.cluster_queue(name, quotas(default=amount), preemption=preemption, cohort_name="all")
    return world


def submit(world: World, asks: list[tuple[str, int, int]], name: str) -> list[str]:
    return [
        world.submit(f"{name}{number}", queue, {"gpu": amount}, priority=priority)
        for number, (queue, amount, priority) in enumerate(asks)
    ]


def preemptor_of(world: World, partition: Partition, workload: Workload) -> PreemptionContext:
    queue = workload.spec.queue_name
    spec = partition.specs[queue]
    return PreemptionContext(
        partition, world.cluster_state.workloads, workload, f"clusterqueue/{queue}", spec
    )


def demand_of(partition: Partition, workload: Workload, amount: int) -> PlacementDemand:
    """So much of the one resource, in a flavor without topology."""
    given = PodSetFlavors(workload.spec.pod_sets[0], {"gpu": "default"}, {"gpu": amount})
    assignment = FlavorAssignment(Mode.PREEMPT, 0, (given,), ())
    queue = workload.spec.queue_name
    return PlacementDemand(workload, queue, partition.config.resource_flavors, assignment)


@given(
    st.lists(POLICIES, min_size=3, max_size=3),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
    st.booleans(),
    ASKS,
    ASKS,
)
def test_what_is_predicted_for_one_resource_is_the_plan_for_it(
    policies: list[object],
    nominal: list[int],
    fair: bool,
    holders: list[tuple[str, int, int]],
    seekers: list[tuple[str, int, int]],
) -> None:
    world = crowded(policies, nominal, fair=fair)
    submit(world, holders, "h")
    world.settle()
    keys = submit(world, seekers, "s")
    for key in keys:
        workload = world[key]
        partition = world.cluster_state.partition(
            world.cluster_state.partition_index.key_of(workload)
        )
        amount = workload.spec.pod_sets[0].scheduling.requests["gpu"]
        anew = preemptor_of(world, partition, workload)
        knowing = preemptor_of(world, partition, workload)
        oracle = preemption_oracle(knowing, preempts=True)
        QuotaView(partition.tree, *partition.usage).check(anew.node, GPU, amount, oracle)
        if knowing.simulations:
            demand = demand_of(partition, workload, amount)
            assert find_victims(knowing, demand) == find_victims(anew, demand)
