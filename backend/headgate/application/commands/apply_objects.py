"""Create what does not exist and change what does, for any number of objects at once."""

from collections.abc import Sequence

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.configure_objects import creation, replacement
from headgate.application.commands.execute import execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    DesiredObject,
    StreamCommand,
)
from headgate.application.commands.submit_workloads import change_of_spec, submission
from headgate.application.cooperative import each, run_yielding
from headgate.domain.facts import DomainEvent
from headgate.domain.kinds.configured_object import Absent


async def apply(
    services: ApplicationServices, call: CommandRequest, wanted: Sequence[DesiredObject]
) -> CommandResponse:
    """All accepted objects in one append, so that nobody sees half of a configuration."""
    actor = call.origin.actor
    changes = await run_yielding(each(change_to(services, actor, one) for one in wanted))
    return await execute(services, call.command(*changes))


def change_to(services: ApplicationServices, actor: str, wanted: DesiredObject) -> StreamCommand:
    """The change that creates an object, or changes it if it is there."""
    if wanted.kind == "workload":
        new = submission(services, wanted)
        other = change_of_spec(services, wanted, None)
    else:
        new, other = creation(services, actor, wanted), replacement(actor, wanted, None)

    def decide(situation: DecisionContext) -> tuple[DomainEvent, ...]:
        change = new if isinstance(situation.state, Absent) else other
        return change.decide(situation)

    return StreamCommand(stream=wanted.stream, decide=decide, position=wanted.position)
