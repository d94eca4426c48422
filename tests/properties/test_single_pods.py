"""Plans that may take single pods, in random queues (invariants of §6.12 by number)."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.rounds.state import RoundCommitted, RoundVictim
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.values.index_ranges import count_of
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.domain.workloads.pods.attempt_pods import attempt_pods
from headgate.domain.workloads.pods.eviction_units import lost_pods, pods_of_evictions
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import ProtectionChanged
from headgate.domain.workloads.protection import guaranteed_count
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest
from headgate.domain.workloads.state import Workload, phase_of
from tests.builders.world import StreamEvent, World, quotas
from tests.hypothesis_profiles import examples
from tests.verify.histories import findings_of

SEEDS = st.integers(min_value=0, max_value=10**9)
NOMINAL = 24
LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def a_queue(chance: Random) -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=NOMINAL), preemption=LOWER)
    for number in range(chance.randint(2, 5)):
        submit(world, chance, f"w{number}", chance.randint(0, 3))
        world.settle()
    return world


def submit(world: World, chance: Random, name: str, priority: int) -> str:
    count = chance.randint(1, 6)
    least = chance.choice([None, chance.randint(1, count)])
    kinds = ["Preemptible", "Preemptible", "NonPreemptible"]
    kind = chance.choice([*kinds, "SemiPreemptible"] if least else kinds)
    pods = PodSet(
        count=count,
        min_count=least,
        disruption_mode=chance.choice(["All", "Single"]),
        scheduling=Scheduling(requests={"gpu": chance.randint(1, 4)}),
    )
    return world.submit_pod_sets(name, "q", pods, priority=priority, preemptibility=kind)


def committed(made: list[StreamEvent]) -> list[RoundCommitted]:
    return [event for _, event in made if isinstance(event, RoundCommitted)]


def free(world: World, view: int) -> int:
    partition = world.cluster_state.partition("clusterqueue/q")
    return NOMINAL - partition.usage[view]["clusterqueue/q"].get(("default", "gpu"), 0)


def size(workload: Workload) -> int:
    return workload.spec.pod_sets[0].scheduling.requests["gpu"]


def core(workload: Workload) -> int:
    return guaranteed_count(workload.spec, workload.spec.pod_sets[0])


def pods(workload: Workload) -> int:
    assert workload.admission is not None, "it holds a place"
    return workload.admission.pod_set_assignments[0].count


def staying(workload: Workload) -> int:
    """How many pods it has once all that are on their way out have gone."""
    if workload.admission is None:
        return 0
    return min([pods(workload), *(asked.counts["main"] for asked in workload.pod_evictions)])


def smallest_return(victim: RoundVictim, workload: Workload) -> int:
    """What would be back first if one more could stay: its core, or one pod."""
    whole = victim.freed["default/gpu"]
    if victim.shrinks_to:
        return size(workload)
    is_single = workload.spec.pod_sets[0].disruption_mode == "Single"
    return min(whole, core(workload) * size(workload)) if is_single else whole


@given(SEEDS)
def test_i1_i9_guaranteed_pods_stay_and_the_last_ranks_are_evicted(seed: int) -> None:
    chance = Random(seed)
    world = a_queue(chance)
    stays = {key: staying(found) for key, found in world.cluster_state.workloads.items()}
    submit(world, chance, "p", 9)
    for event in committed(world.settle()):
        for victim in event.victims:
            held = world[victim.workload]
            if victim.shrinks_to:
                assert held.spec.preemptibility != "NonPreemptible"
                assert core(held) <= victim.shrinks_to["main"]
                assert victim.shrinks_to["main"] + victim.pods == stays[victim.workload]
                stays[victim.workload] = victim.shrinks_to["main"]
            else:
                assert held.spec.preemptibility == "Preemptible"


@given(SEEDS)
def test_i3_i4_it_fits_once_they_have_left_and_not_with_one_more_pod_back(seed: int) -> None:
    chance = Random(seed)
    world = a_queue(chance)
    submit(world, chance, "p", 9)
    last_round = committed(world.settle())[-1:]
    for event in last_round:
        left = free(world, PROJECTED)
        assert left >= 0
        for victim in event.victims:
            assert left < smallest_return(victim, world[victim.workload])
            assert victim.freed["default/gpu"] == victim.pods * size(world[victim.workload])


@given(SEEDS)
def test_i5_only_pods_of_lower_priority_leave(seed: int) -> None:
    chance = Random(seed)
    world = a_queue(chance)
    submit(world, chance, "p", chance.randint(0, 4))
    for event in committed(world.settle()):
        assert all(victim.protection < event.preemptor_priority for victim in event.victims)


@given(SEEDS)
def test_i9_i12_counts_add_up_and_no_gang_is_broken_in_any_stop_order(seed: int) -> None:
    chance = Random(seed)
    world = a_queue(chance)
    for number in range(3):
        submit(world, chance, f"p{number}", chance.randint(1, 9))
        world.settle()
        for key in sorted(world.cluster_state.workloads, key=lambda _: chance.random()):
            found = world[key]
            if found.pod_evictions and found.eviction is None:
                world.give_up_pods(key)
            elif found.eviction is not None and chance.random() < 0.5:
                world.stop(key)
            world.settle()
    held = [
        found for found in world.cluster_state.workloads.values() if has_quota_reservation(found)
    ]
    for found in held:
        assert found.admission is not None, "it holds a place"
        assert found.admission.pod_set_assignments[0].count >= min(
            core(found), found.spec.pod_sets[0].min_count or core(found)
        )
    taken = sum(
        given.resource_usage["gpu"]
        for found in held
        for given in (found.admission.pod_set_assignments if found.admission else ())
    )
    assert free(world, ACTUAL) == NOMINAL - taken >= 0


@given(SEEDS)
def test_no_workload_lacks_a_pod_that_has_room_and_is_wanted_by_no_other(seed: int) -> None:
    """KEP-5710, story 3: whatever was taken, and whatever ends in whatever order."""
    chance = Random(seed)
    world = a_queue(chance)
    for number in range(4):
        submit(world, chance, f"p{number}", chance.randint(1, 9))
        world.settle()
        for key in sorted(world.cluster_state.workloads, key=lambda _: chance.random()):
            found = world[key]
            if found.pod_evictions and found.eviction is None:
                world.give_up_pods(key)
            elif found.eviction is not None:
                world.stop(key)
            elif has_quota_reservation(found) and not lost_pods(found) and chance.random() < 0.4:
                world.finish(key)
            world.settle()
    workloads = world.cluster_state.workloads.values()
    waiting = [w.spec.priority for w in workloads if phase_of(w) in {"Pending", "Nominated"}]
    for found in workloads:
        if lost_pods(found) and found.spec.priority > max(waiting, default=-1):
            assert min(free(world, ACTUAL), free(world, PROJECTED)) < size(found)
    assert findings_of(world.history) == []


@given(SEEDS)
def test_i20_more_protection_never_makes_more_pods_leave(seed: int) -> None:
    plain, guarded = a_queue(Random(seed)), a_queue(Random(seed))
    leaves = pods_that_leave(plain, seed)
    for key in leaves:
        changed = ProtectionChanged(before=0, after=99)
        guarded.record(f"workload/{key}", changed)
        assert key not in pods_that_leave(guarded, seed)
        break


@given(SEEDS)
def test_i14_the_same_facts_make_the_same_pods_leave(seed: int) -> None:
    assert pods_that_leave(a_queue(Random(seed)), seed) == pods_that_leave(
        a_queue(Random(seed)), seed
    )


def pods_that_leave(world: World, seed: int) -> dict[str, int]:
    """The number of evicted pods by workload for one preemptor."""
    submit(world, Random(seed), "p", 9)
    made = committed(world.settle())
    return {victim.workload: victim.pods for event in made for victim in event.victims}


@given(SEEDS)
def test_i8_cores_and_non_preemptible_work_stay_within_what_their_queue_owns(seed: int) -> None:
    chance = Random(seed)
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=8), cohort_name="c", preemption=LOWER)
    world.cluster_queue("lender", quotas(default=16), cohort_name="c")
    for number in range(8):
        submit(world, chance, f"w{number}", chance.randint(0, 5))
        world.settle()
        for key in sorted(world.cluster_state.workloads):
            if world[key].pod_evictions and world[key].eviction is None:
                world.give_up_pods(key)
                world.settle()
    held = [
        found for found in world.cluster_state.workloads.values() if has_quota_reservation(found)
    ]
    immune = [found for found in held if found.spec.preemptibility != "Preemptible"]
    assert sum(min(core(found), pods(found)) * size(found) for found in immune) <= 8


def on_hosts(chance: Random) -> tuple[World, dict[str, int]]:
    """Hosts in three racks, most of them taken by workloads that may lose single pods."""
    world = World()
    hosts = {f"b/r{n % 3}/h{n}": chance.randint(1, 3) for n in range(5)}
    world.hosts(hosts, "gpu")
    world.cluster_queue("q", quotas("gpu", tas=sum(hosts.values())), preemption=LOWER)
    for number in range(2):
        submit_on_hosts(world, chance, f"w{number}", chance.randint(0, 2))
        world.settle()
    return world, {path.rpartition("/")[2]: gpus for path, gpus in hosts.items()}


def submit_on_hosts(world: World, chance: Random, name: str, priority: int) -> str:
    """Pods that may leave singly, or those of a preemptor that one rack can take."""
    is_preemptor = priority > 2
    selector = {"rack": f"r{chance.randint(0, 2)}"} if is_preemptor else {}
    count = chance.randint(1, 2) if is_preemptor else chance.randint(2, 6)
    pods = PodSet(
        count=count,
        min_count=None if is_preemptor else chance.choice([None, 1, count - 1]),
        disruption_mode="All" if is_preemptor else "Single",
        scheduling=Scheduling(requests={"gpu": chance.randint(1, 2)}, node_selector=selector),
        topology_request=TopologyRequest(unconstrained=True),
    )
    return world.submit_pod_sets(name, "q", pods, priority=priority)


def check_ranks(world: World, hosts: dict[str, int]) -> Counter[str]:
    """Hosts and quota hold what the ranks that run use, and each round has pods of its own.

    Returns what is used of each host.
    """
    used: Counter[str] = Counter()
    for workload in world.cluster_state.workloads.values():
        if not has_quota_reservation(workload) or workload.finished_at is not None:
            continue
        assert workload.admission is not None, "it holds a place"
        (given,) = workload.admission.pod_set_assignments
        assert given.topology_assignment is not None, "it is on hosts"
        nodes = [pod.node for pod in attempt_pods(workload.admission, workload.layout)]
        places = {d.values[-1]: d.count for d in given.topology_assignment.domains}
        assert Counter(nodes) == places
        assert (len(nodes), given.resource_usage["gpu"]) == (
            given.count,
            given.count * size(workload),
        )
        used.update({node: count * size(workload) for node, count in Counter(nodes).items()})
        asked = [set(taken["main"]) for _, taken in pods_of_evictions(workload)]
        assert len(set().union(*asked)) == sum(map(len, asked)), "no pod leaves for two rounds"
        sizes = [pod_eviction.pods["main"] for pod_eviction in workload.pod_evictions]
        assert [len(found) for found in asked] == sizes
    assert all(used[host] <= hosts[host] for host in used)
    partition = world.cluster_state.partition("clusterqueue/q")
    assert partition.usage[ACTUAL]["clusterqueue/q"].get(("tas", "gpu"), 0) == sum(used.values())
    return used


@settings(max_examples=examples(400, quick=6))
@given(SEEDS)
def test_pods_of_any_rank_leave_and_come_back_while_hosts_and_quota_add_up(seed: int) -> None:
    chance = Random(seed)
    world, hosts = on_hosts(chance)
    preemptors = []
    for number in range(5):
        preemptors.append(submit_on_hosts(world, chance, f"p{number}", chance.randint(3, 9)))
        for event in committed(world.settle()):
            for victim in event.victims:
                assert sum(map(count_of, victim.indices.values())) == (
                    victim.pods if victim.shrinks_to else 0
                )
        check_ranks(world, hosts)
        for key in sorted(world.cluster_state.workloads, key=lambda _: chance.random()):
            found = world[key]
            if found.pod_evictions and found.eviction is None:
                world.give_up_pods(key, chance.randrange(len(found.pod_evictions)))
            elif found.eviction is not None:
                world.stop(key)
            elif key in preemptors and has_quota_reservation(found) and chance.random() < 0.3:
                world.finish(key)
            check_ranks(world, hosts)
            world.settle()
    for key in preemptors:
        if has_quota_reservation(world[key]):
            world.finish(key)
        else:
            world.record(f"workload/{key}", WorkloadDeleted())
        world.settle()
    for key in ("team/w0", "team/w1"):
        while world[key].pod_evictions:
            world.give_up_pods(key)
        if world[key].eviction is not None:
            world.stop(key)
        world.settle()
    used = check_ranks(world, hosts)
    assert findings_of(world.history) == []
    if all(has_quota_reservation(world[key]) for key in ("team/w0", "team/w1")):
        for key in ("team/w0", "team/w1"):
            has_room = any(hosts[host] - used[host] >= size(world[key]) for host in hosts)
            assert not (has_room and lost_pods(world[key])), "all are back where there is room"
