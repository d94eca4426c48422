"""Create what does not exist and change what does, for any number of objects at once."""

from collections.abc import Sequence

from headgate.application.application_services import ApplicationServices
from headgate.application.changes.commands import Call, Change, Handled, Situation
from headgate.application.changes.configure_objects import creation, replacement
from headgate.application.changes.handle_command import handle
from headgate.application.changes.submit_workloads import change_of_spec, submission
from headgate.application.changes.wanted import Wanted
from headgate.application.cooperative import each, run_yielding
from headgate.domain.configured import Absent
from headgate.domain.facts import DomainEvent


async def apply(services: ApplicationServices, call: Call, wanted: Sequence[Wanted]) -> Handled:
    """All accepted objects in one append, so that nobody sees half of a configuration."""
    actor = call.origin.actor
    changes = await run_yielding(each(change_to(services, actor, one) for one in wanted))
    return await handle(services, call.command(*changes))


def change_to(services: ApplicationServices, actor: str, wanted: Wanted) -> Change:
    """The change that creates an object, or changes it if it is there."""
    if wanted.kind == "workload":
        new = submission(services, wanted)
        other = change_of_spec(services, wanted, None)
    else:
        new, other = creation(services, actor, wanted), replacement(actor, wanted, None)

    def decide(situation: Situation) -> tuple[DomainEvent, ...]:
        change = new if isinstance(situation.state, Absent) else other
        return change.decide(situation)

    return Change(stream=wanted.stream, decide=decide, position=wanted.position)
