"""A flavor is eligible only if one of its executors honours what a pod template needs."""

import pytest
from msgspec.structs import replace

from headgate.domain.executor_assignments import executors_of
from headgate.domain.kinds.executor import (
    ExecutorClaimed,
    ExecutorCreated,
    ExecutorReturned,
    ExecutorSpec,
)
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import PodSet, Scheduling
from tests.builders.world import World, quotas


def a_world(*flavors: str) -> World:
    """A ClusterQueue `q` with these flavors, each of the nodes labelled with its name."""
    world = World()
    for name in flavors:
        world.flavor(name, node_labels={"pool": name})
    world.cluster_queue("q", quotas("cpu", **dict.fromkeys(flavors, 9)))
    return world


def executor(world: World, name: str, *capabilities: str, epoch: int = 1, **labels: str) -> None:
    """An Executor of the nodes with these labels, claimed with these capabilities."""
    if f"executor/{name}" not in {each.stream for each in world.history}:
        spec = ExecutorSpec(node_selector=labels)
        world.record(f"executor/{name}", ExecutorCreated(uid=name, name=name, spec=spec))
    claimed = ExecutorClaimed(epoch=epoch, capabilities=capabilities)
    world.record(f"executor/{name}", claimed)


def submit(world: World, name: str, *needs: str) -> str:
    pod_set = PodSet(scheduling=Scheduling(requests={"cpu": 1}), needs=needs)
    return world.submit_pod_sets(name, "q", pod_set)


def flavor_of(world: World, key: str) -> str:
    admission = world[key].admission
    return admission.pod_set_assignments[0].flavors["cpu"] if admission else ""


def reason(world: World, key: str) -> Message:
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    return found.blockers[found.deciding].message


def test_a_flavor_of_which_no_executor_honours_a_need_gives_way_to_the_next() -> None:
    world = a_world("one", "two")
    executor(world, "first", "command", pool="one")
    executor(world, "second", "command", "image", pool="two")
    plain, with_image = submit(world, "plain", "command"), submit(world, "w", "command", "image")
    world.settle()
    assert (flavor_of(world, plain), flavor_of(world, with_image)) == ("one", "two")


def test_the_reason_names_what_is_lacking_and_the_executors_of_the_flavor() -> None:
    world = a_world("one")
    executor(world, "first", "command", pool="one")
    key = submit(world, "w", "command", "env.configMapKeyRef", "image")
    world.settle()
    lacking = ("env.configMapKeyRef", "image")
    assert flavor_of(world, key) == ""
    assert reason(world, key) == message(
        "ExecutorLacksCapability", capabilities=lacking, executors=("first",)
    )


def test_workloads_are_evaluated_again_once_an_executor_claims_with_what_was_lacking() -> None:
    world = a_world("one")
    executor(world, "first", "command", pool="one")
    key = submit(world, "w", "image")
    world.settle()
    executor(world, "first", "command", "image", epoch=2, pool="one")
    world.settle()
    assert flavor_of(world, key) == "one"


def test_equal_requests_with_other_needs_are_no_equal_workloads() -> None:
    world = a_world("one")
    executor(world, "first", "command", pool="one")
    first, second = submit(world, "a", "image"), submit(world, "b", "command")
    world.settle()
    assert (flavor_of(world, first), flavor_of(world, second)) == ("", "one")


@pytest.mark.parametrize("pool", ["one", "other"])
def test_an_executor_that_declares_nothing_or_has_other_nodes_restricts_nothing(pool: str) -> None:
    world = a_world("one")
    executor(world, "first", *([] if pool == "one" else ["command"]), pool=pool)
    key = submit(world, "w", "image")
    world.settle()
    assert flavor_of(world, key) == "one"


@pytest.mark.parametrize(("of_second", "flavor"), [("able", "tas"), ("", "tas"), ("unable", "")])
def test_one_executor_among_those_of_the_nodes_must_honour_the_needs(
    of_second: str, flavor: str
) -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    cpu = {"cpu": 8, "pods": 110}
    executor(world, "unable", "command", rack="r1")
    executor(world, "able", "command", "image", rack="r2")
    world.node("b/r1/h1", allocatable=cpu, executor="unable")
    world.node("b/r2/h2", allocatable=cpu, executor=of_second)
    world.cluster_queue("q", quotas("cpu", tas=9))
    key = submit(world, "w", "image")
    world.settle()
    assert flavor_of(world, key) == flavor


def test_only_claims_with_other_capabilities_wake_partitions() -> None:
    world = a_world("one")
    executor(world, "first", "command", pool="one")

    def woken(event: object) -> tuple[tuple[str, ...], bool]:
        return wakes_of(world.cluster_state, "executor/first", event)  # type: ignore[arg-type]

    assert woken(ExecutorClaimed(epoch=2, capabilities=("command",))) == (("installation",), False)
    assert woken(ExecutorClaimed(epoch=2, capabilities=("image",))) == (("*",), True)
    assert woken(ExecutorReturned(epoch=1)) == (("installation",), False)


def test_a_job_of_another_controller_needs_an_executor_that_declares_it() -> None:
    world = a_world("one")
    executor(world, "first", "command", pool="one")
    key = submit(world, "ray", "controller.RayCluster")
    world.settle()
    expected = message("ExecutorLacksController", kind="RayCluster", executors=("first",))
    assert reason(world, key) == expected
    executor(world, "first", "command", "controller.RayCluster", epoch=2, pool="one")
    world.settle()
    assert flavor_of(world, key) == "one"


def test_pods_of_a_job_are_given_to_the_executor_that_follows_it_and_to_no_other() -> None:
    world = a_world("one")
    executor(world, "first", "job.first", pool="one")
    own, elsewhere = submit(world, "own", "job.first"), submit(world, "elsewhere")
    world.settle()
    changed = replace(
        world[elsewhere],
        spec=replace(
            world[elsewhere].spec,
            pod_sets=tuple(
                replace(s, needs=("job.kueue",)) for s in world[elsewhere].spec.pod_sets
            ),
        ),
    )
    config = world.cluster_state.config
    assert executors_of(config, world[own]) == {"first"}
    assert executors_of(config, world[elsewhere]) == {"first"}
    assert executors_of(config, changed) == frozenset()
