"""The times at which queues become active or inactive, whatever event causes it."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.admission_check import AdmissionCheckDeleted, AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueDeleted,
    ClusterQueueDeletionRequested,
    ClusterQueueResumed,
    ClusterQueueStopped,
)
from headgate.domain.kinds.local_queue import (
    LocalQueueChanged,
    LocalQueueDeleted,
    LocalQueueResumed,
    LocalQueueSpec,
    LocalQueueStopped,
)
from headgate.domain.kinds.queue_activity import (
    active_since,
    cluster_queue_activity,
    local_queue_activity,
)
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.kinds.resource_flavor import (
    ResourceFlavorChanged,
    ResourceFlavorDeleted,
    ResourceFlavorSpec,
)
from headgate.domain.kinds.topology import TopologyDeleted
from headgate.domain.values.instants import Instant
from tests.builders.world import World, quotas

QUEUES = ("one", "two")
FLAVOR = "resourceflavor/gold"
STOP = Stop(owner="admin:ann", reason="repairs", stopped_at=0)


def since(cluster_state: ClusterState) -> dict[str, Instant]:
    """What is told of every queue."""
    config = cluster_state.config
    kinds = (("clusterqueue", config.cluster_queues), ("localqueue", config.local_queues))
    return {
        f"{kind}/{key}": active_since(config, f"{kind}/{key}", queue)
        for kind, queues in kinds
        for key, queue in queues.items()
    }


def activity(cluster_state: ClusterState) -> dict[str, bool]:
    config = cluster_state.config
    own = {f"clusterqueue/{q}": cluster_queue_activity(config, q) for q in config.cluster_queues}
    doors = {f"localqueue/{key}": local_queue_activity(config, key) for key in config.local_queues}
    return {queue: found.active for queue, found in {**own, **doors}.items()}


def test_a_flavor_that_comes_late_opens_the_queue_and_its_doors_when_it_comes() -> None:
    world = World(seconds=10)
    world.cluster_queue("one", quotas(gold=8))
    world.wait(50)
    world.flavor("gold")
    assert since(world.cluster_state) == {
        "clusterqueue/one": world.at,
        "localqueue/team/one": world.at,
    }
    world.wait(5)
    world.flavor("other")
    world.change_cluster_queue("one", fair_weight_milli=5)
    assert world.cluster_state.config.active_since["clusterqueue/one"] == world.at - 5_000_000


def test_a_second_fault_does_not_move_the_time_of_the_first() -> None:
    world = World()
    world.flavor("gold")
    world.cluster_queue("one", quotas(gold=8))
    world.wait(5)
    world.record("clusterqueue/one", ClusterQueueStopped(policy="Hold", stop=STOP))
    stopped_at = world.at
    world.wait(5)
    world.record(FLAVOR, ResourceFlavorDeleted())
    world.record("clusterqueue/one", ClusterQueueResumed())
    assert since(world.cluster_state)["clusterqueue/one"] == stopped_at


def test_what_was_only_tried_leaves_no_trace() -> None:
    world = World()
    world.flavor("gold")
    world.cluster_queue("one", quotas(gold=8))
    before = since(world.cluster_state)
    with world.cluster_state.overlay():
        world.cluster_state.assume(FLAVOR, ResourceFlavorDeleted(), world.at + 1)
        assert since(world.cluster_state)["localqueue/team/one"] == world.at + 1
    assert since(world.cluster_state) == before


def test_forks_and_kept_folds_know_it_and_go_their_own_way() -> None:
    world = World()
    world.cluster_queue("one", quotas(gold=8))
    world.wait(5)
    world.flavor("gold")
    assert since(ClusterState.load(world.cluster_state.dump())) == since(world.cluster_state)
    fork, before = world.cluster_state.fork(), since(world.cluster_state)
    world.wait(5)
    world.record(FLAVOR, ResourceFlavorDeleted())
    assert since(fork) == before != since(world.cluster_state)


def _gold(world: World) -> None:
    if "gold" in world.cluster_state.config.resource_flavors:
        world.record(FLAVOR, ResourceFlavorDeleted())
    else:
        world.flavor("gold", node_labels={"pool": "gpu"}, topology_name="tree")


def _plain_gold(world: World) -> None:
    if "gold" in world.cluster_state.config.resource_flavors:
        world.record(FLAVOR, ResourceFlavorChanged(spec=ResourceFlavorSpec()))


def _tree(world: World) -> None:
    if "tree" in world.cluster_state.config.topologies:
        world.record("topology/tree", TopologyDeleted())
    else:
        world.topology()


def _check(world: World) -> None:
    if "budget" in world.cluster_state.config.admission_checks:
        world.record("admissioncheck/budget", AdmissionCheckDeleted())
    else:
        world.admission_check("budget")


def _idle_check(world: World) -> None:
    check = world.cluster_state.config.admission_checks.get("budget")
    if check is not None:
        world.record("admissioncheck/budget", AdmissionCheckReported(active=not check.spec.active))


def _queue(name: str) -> Callable[[World], None]:
    def act(world: World) -> None:
        known = world.cluster_state.config.cluster_queues.get(name)
        if known is None:
            rules = (AdmissionCheckRule(name="budget"),) if name == "two" else ()
            world.cluster_queue(name, quotas(gold=8), admission_checks=rules)
        elif known.terminating_at is None:
            world.record(f"clusterqueue/{name}", ClusterQueueDeletionRequested())
        else:
            world.record(f"clusterqueue/{name}", ClusterQueueDeleted())
            world.record(f"localqueue/team/{name}", LocalQueueDeleted())

    return act


def _stop(name: str) -> Callable[[World], None]:
    def act(world: World) -> None:
        known = world.cluster_state.config.cluster_queues.get(name)
        if known is not None:
            stops = known.spec.stop_policy == "None"
            stopped = ClusterQueueStopped(policy="Hold", stop=STOP)
            world.record(f"clusterqueue/{name}", stopped if stops else ClusterQueueResumed())

    return act


def _door(name: str) -> Callable[[World], None]:
    def act(world: World) -> None:
        known = world.cluster_state.config.local_queues.get(f"team/{name}")
        if known is not None:
            stops = known.spec.stop_policy == "None"
            stopped = LocalQueueStopped(policy="Hold", stop=STOP)
            world.record(f"localqueue/team/{name}", stopped if stops else LocalQueueResumed())

    return act


def _swap(world: World) -> None:
    known = world.cluster_state.config.local_queues.get("team/one")
    if known is not None:
        other = "two" if known.spec.cluster_queue == "one" else "one"
        changed = LocalQueueChanged(spec=LocalQueueSpec(cluster_queue=other))
        world.record("localqueue/team/one", changed)


ACTS = (
    *(_gold, _plain_gold, _tree, _check, _idle_check, _swap),
    *(make(name) for make in (_queue, _stop, _door) for name in QUEUES),
)


@given(st.lists(st.sampled_from(ACTS), min_size=8, max_size=40))
def test_the_time_is_that_of_the_fact_that_changed_it_whatever_happens(
    acts: list[Callable[[World], None]],
) -> None:
    world = World()
    for act in acts:
        world.wait(1)
        act(world)
    told: dict[str, tuple[bool, Instant]] = {}
    again = ClusterState()
    for recorded in world.history:
        again.apply(recorded)
        now = activity(again)
        told = {
            queue: told[queue] if told.get(queue, (None,))[0] == active else (active, recorded.at)
            for queue, active in now.items()
        }
    assert (
        since(again) == since(world.cluster_state) == {queue: at for queue, (_, at) in told.items()}
    )
