"""Very many changes are decided in slices, and the configuration may move in between."""

from headgate.application.commands.decide import decide_commands, unit_of_results
from headgate.application.commands.workload_commands import command_on_workload
from headgate.application.cooperative import at_once
from headgate.application.ports import Loaded
from headgate.domain.recorded_event import workload_stream
from headgate.domain.workloads.commands import HoldWorkload
from tests.builders.world import ORIGIN, World, quotas

HOLD = HoldWorkload(owner="ada", authority="User", reason="later")
KEYS = ("team/first", "team/second")


def test_what_was_decided_is_bound_to_the_configuration_of_the_first_decision() -> None:
    world = World()
    world.flavor()
    world.cluster_queue("main", quotas(default=10))
    world.local_queue("main", "main")
    for name in ("first", "second"):
        world.submit(name, "main")
    cluster_state = world.cluster_state
    loaded = {
        workload_stream(key): Loaded(
            stream=workload_stream(key), version=1, position=1, state=cluster_state.workloads[key]
        )
        for key in KEYS
    }
    config_position = cluster_state.config_position
    commands = [command_on_workload(key, HOLD) for key in KEYS]
    deciding = decide_commands(cluster_state, commands, loaded, world.at)
    first = next(deciding)
    world.change_cluster_queue("main", namespace_selector=None)
    results = [first, *deciding]
    unit = at_once(unit_of_results(cluster_state, results, world.at, ORIGIN, config_position))
    assert [new.stream for new in unit.events] == list(loaded)
    assert unit.config_position == config_position < cluster_state.config_position
