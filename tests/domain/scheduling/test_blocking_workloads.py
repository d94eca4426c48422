"""The named holders of quota depend on present usage, not on capacity reserved in a cycle."""

from headgate.domain.scheduling.evaluation.evaluation_summary import top_holders
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.placement.host_table import ACTUAL
from tests.builders.world import World, quotas

KEY = ("plain", "gpu")


def test_capacity_reserved_in_a_cycle_does_not_change_the_named_holders() -> None:
    world = World()
    world.flavor("plain")
    world.cluster_queue("mine", quotas(plain=4), cohort_name="team")
    world.cluster_queue("other", quotas(plain=8), cohort_name="team")
    world.cluster_queue("keeps", quotas(plain=(6, None, 2)), cohort_name="team")
    world.submit("large", "keeps", {"gpu": 5})
    world.submit("middle", "other", {"gpu": 3})
    world.settle()
    partition = world.cluster_state.partition(
        world.cluster_state.partition_index.of_cluster_queue["mine"]
    )

    def asked() -> tuple[str, ...]:
        return top_holders(partition, "mine", KEY)

    assert asked() == ("team/middle", "team/large"), "of large 1 gpu gets through"
    kept = Charge("keeps", {KEY: 4}, ())
    partition.charges.acquire(ACTUAL, kept)
    assert asked() == ("team/large", "team/middle")
    partition.charges.release(ACTUAL, kept)
    assert asked() == ("team/middle", "team/large")
