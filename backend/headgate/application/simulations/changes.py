"""Changes that are tried out besides objects that are applied."""

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.act_on_workloads import change_of_workload
from headgate.application.commands.configure_objects import change_of_object, deletion_of_object
from headgate.application.commands.requests import DecisionContext, StreamCommand
from headgate.domain.facts import DomainEvent
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.nodes.commands import CordonNode
from headgate.domain.rejection import NotFound
from headgate.domain.streams import kind_and_key, workload_stream
from headgate.domain.workloads.commands import ChangeSpec, DeleteWorkload
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.state import Workload


def deletion(services: ApplicationServices, stream: str) -> StreamCommand:
    """The change that deletes an object or a workload."""
    kind, key = kind_and_key(stream)
    if kind == "workload":
        return change_of_workload(key, DeleteWorkload(eviction=services.ids.new()))
    return deletion_of_object(stream)


def cordoning(node: str) -> StreamCommand:
    """The change that keeps a node from taking anything new."""
    return change_of_object(f"node/{node}", CordonNode())


def new_priority(services: ApplicationServices, key: str, priority: int) -> StreamCommand:
    """The change that gives a workload another priority."""
    eviction = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        workload = situation.state
        if isinstance(workload, Absent):
            raise NotFound(f"There is no workload {key}.", remedy="Check its name and namespace.")
        assert isinstance(workload, Workload), "the stream of a workload holds workloads"
        command = ChangeSpec(
            labels=workload.labels,
            annotations=workload.annotations,
            spec=msgspec.structs.replace(workload.spec, priority=priority),
            eviction=eviction,
        )
        return WORKLOAD.decide(workload, command, situation.at)

    return StreamCommand(stream=workload_stream(key), decide=decide)
