"""Each remedy that an explanation names ends its blocker."""

import re
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.domain.kinds.queue_settings import (
    ClusterQueuePreemption,
    FlavorQuotas,
    ResourceGroup,
)
from headgate.domain.scheduling.pending_reasons import current_reason
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.usage import headroom
from headgate.domain.values.selectors import Taint, Toleration
from headgate.domain.workloads.explanation import Blocker, Explanation
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from headgate.messages.catalogue import remedies_of
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples

KEY = ("one", "gpu")
MINE = "clusterqueue/q0"
LIMITS = re.compile(r"^Raise ([a-zA-Z ]+) by (\d+) gpu \(flavor one\)")
SMALLER = re.compile(r"or request at most (\d+) gpu$")
MORE = re.compile(r"^Free up (\d+) gpu of one")
GIVEN_BACK = re.compile(r"(?: \(in use by (.*)\)|, or stop (.*))$")
FIELDS = {"nominalQuota": "nominal_quota", "borrowingLimit": "borrowing_limit"}
RESERVING = ClusterQueuePreemption(reserve_for_pending_non_preemptible=True)
IMMUNE = ("Preemptible", "NonPreemptible")

small = st.integers(0, 6)
limit = st.none() | st.integers(0, 4)
quota = st.tuples(small, limit, limit)
running = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(IMMUNE)), max_size=6
)
Build = Callable[[], World]


@st.composite
def worlds(draw: st.DrawFn) -> Build:
    """A ClusterQueue beside two others below cohorts, work in all of them, and `asked` in line."""
    given_quotas = draw(st.tuples(quota, quota, quota))
    nested, work = draw(st.booleans()), draw(running)
    request, kind = draw(st.integers(1, 9)), draw(st.sampled_from(IMMUNE))
    cut = draw(st.none() | st.integers(0, 3))
    reserves = draw(st.booleans())

    def build() -> World:
        world = World()
        world.flavor("one")
        world.cohort("upper", groups=quotas(one=1))
        world.cohort("lower", "upper")
        for number, given_quota in enumerate(given_quotas):
            world.cluster_queue(
                f"q{number}",
                quotas(one=given_quota),
                cohort_name="upper" if nested and number == 2 else "lower",
                preemption=RESERVING if reserves else ClusterQueuePreemption(),
            )
        for number, (queue, size, preemptibility) in enumerate(work):
            name = f"w{number}"
            world.submit(name, f"q{queue}", {"gpu": size}, preemptibility=preemptibility)
        world.settle()
        if cut is not None:
            _raise(world, "nominal_quota", cut - given_quotas[0][0])
        world.submit("asked", "q0", {"gpu": request}, preemptibility=kind, priority=9)
        world.settle()
        return world

    return build


@given(worlds())
@settings(max_examples=examples(1_200))
def test_a_higher_limit_that_is_advised_takes_the_blocker_away(build: Build) -> None:
    for advice in _advice(build()):
        found = LIMITS.match(advice)
        for named in found[1].split(" or ") if found else ():
            world = build()
            before = _blocker(world)
            _raise(world, FIELDS[named], int(found[2]) if found else 0)
            assert _is_gone(before, world), (advice, _told(world))


@given(worlds())
@settings(max_examples=examples(1_200))
def test_so_much_more_quota_as_is_advised_takes_the_blocker_away(build: Build) -> None:
    for advice in _advice(build()):
        if found := MORE.match(advice):
            world = build()
            before = _blocker(world)
            _raise(world, "nominal_quota", int(found[1]))
            assert _is_gone(before, world), (advice, _told(world))


@given(worlds())
@settings(max_examples=examples(1_200))
def test_every_named_holder_frees_quota_by_leaving(build: Build) -> None:
    for advice in _advice(build()):
        found = GIVEN_BACK.search(advice)
        named = re.sub(r" and \d+ more$", "", found[1] or found[2]).split(", ") if found else []
        for holder in named:
            world = build()
            before, there = _blocker(world), _balance(world)
            world.finish(holder)
            assert _balance(world) > there, (advice, before)


@given(worlds())
@settings(max_examples=examples(1_200))
def test_a_request_as_small_as_advised_can_be_had_in_time(build: Build) -> None:
    for advice in _advice(build()):
        if found := SMALLER.search(advice):
            world = build()
            kind = world["team/asked"].spec.preemptibility
            world.submit("less", "q0", {"gpu": int(found[1])}, preemptibility=kind, priority=99)
            world.settle()
            told = world["team/less"].explanation
            assert told is None or told.dominant != "ExceedsMaxQuota"


def test_quota_that_others_keep_to_themselves_is_not_said_to_be_held_by_them() -> None:
    """A lending limit of 0 and a borrowing limit of 0 each make two queues no use to each other."""
    for mine, theirs in ((2, (8, None, 0)), ((2, 0, None), 8)):
        world = World()
        world.flavor("one")
        world.cluster_queue("a", quotas(one=mine), cohort_name="c")
        world.cluster_queue("b", quotas(one=theirs), cohort_name="c")
        world.submit("large", "b", {"gpu": 7})
        world.submit("small", "a", {"gpu": 1})
        world.settle()
        world.submit("asked", "a", {"gpu": 2})
        world.settle()
        assert _advice(world) == ["Free up 1 gpu of one (in use by team/small)"]


def test_capacity_for_slices_is_counted_in_slices() -> None:
    world = World()
    world.hosts({"b/r1/h1": 4, "b/r1/h2": 4})
    world.cluster_queue("q0", quotas("cpu", tas=99))
    slices = (SliceLayer(level="rack", size=4),)
    request = TopologyRequest(required="block", slice_layers=slices)
    world.submit("asked", "q0", {"cpu": 1}, count=12, topology=request)
    world.settle()
    assert _advice(world) == ["Request at most 2 slices, or add hosts to one block"]
    world.node("b/r2/h3", allocatable={"cpu": 4, "pods": 110})
    world.settle()
    assert world.admitted() == ["team/asked"]


def test_a_flavor_that_cannot_be_used_says_what_would_make_it_usable() -> None:
    world = World()
    world.flavor("one", node_taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))
    world.cluster_queue("q0", quotas(one=4))
    asked = Scheduling(requests={"gpu": 1})
    world.submit_pod_sets("asked", "q0", PodSet(scheduling=asked))
    world.settle()
    assert _advice(world) == ["Tolerate taint gpu=yes:NoSchedule in pod set main (flavor one)"]
    tolerant = (Toleration(key="gpu", value="yes"),)
    advised = PodSet(scheduling=replace(asked, tolerations=tolerant))
    world.submit_pod_sets("advised", "q0", advised)
    world.settle()
    assert world.admitted() == ["team/advised"]


def test_a_resource_without_quota_says_so() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q0", quotas(one=4))
    world.submit("asked", "q0", {"gpu": 1, "slots": 2})
    world.settle()
    assert _advice(world) == ["Add slots quota to the ClusterQueue, or remove the request"]


def _advice(world: World) -> list[str]:
    found = _told(world)
    return remedies_of(found) if found else []


def _told(world: World) -> Explanation | None:
    """The pending reason by a fresh evaluation."""
    return current_reason(world.cluster_state, world["team/asked"], world.at)


def _blocker(world: World) -> Blocker:
    found = _told(world)
    assert found is not None
    (blocker,) = [each for each in found.blockers if each.type == "Quota"]
    return blocker


def _is_gone(before: Blocker, world: World) -> bool:
    """A look at it finds room, or something else: another reason, or another rule for quota."""
    found = _told(world)
    return found is None or all(
        (each.reason, each.message.code) != (before.reason, before.message.code)
        for each in found.blockers
        if each.type == "Quota"
    )


def _raise(world: World, name: str, by: int) -> None:
    groups = world.cluster_state.config.cluster_queues["q0"].spec.resource_groups
    line = groups[0].flavors[0].resources[0]
    changed = replace(line, **{name: (getattr(line, name) or 0) + by})
    flavors = (FlavorQuotas(name="one", resources=(changed,)),)
    group = ResourceGroup(covered_resources=("gpu",), flavors=flavors)
    world.change_cluster_queue("q0", resource_groups=(group,))


def _balance(world: World) -> int:
    partition = world.cluster_state.partition(
        world.cluster_state.partition_index.of_cluster_queue["q0"]
    )
    return headroom(partition.tree, partition.usage[ACTUAL], MINE, KEY)
