"""Create what does not exist and change what does, for any number of objects at once."""

from collections.abc import Sequence

from headgate.application.changes.commands import Call, Change, Handled, Situation
from headgate.application.changes.configure_objects import creation, replacement
from headgate.application.changes.handle_command import handle
from headgate.application.changes.submit_workloads import change_of_spec, submission
from headgate.application.changes.wanted import Wanted
from headgate.application.installation import Installation
from headgate.application.slices import each, in_slices
from headgate.domain.configured import Absent
from headgate.domain.facts import DomainEvent


async def apply(installation: Installation, call: Call, wanted: Sequence[Wanted]) -> Handled:
    """All accepted objects in one append, so that nobody sees half of a configuration."""
    actor = call.origin.actor
    changes = await in_slices(each(change_to(installation, actor, one) for one in wanted))
    return await handle(installation, call.command(*changes))


def change_to(installation: Installation, actor: str, wanted: Wanted) -> Change:
    """The change that creates an object, or changes it if it is there."""
    if wanted.kind == "workload":
        new = submission(installation, wanted)
        other = change_of_spec(installation, wanted, None)
    else:
        new, other = creation(installation, actor, wanted), replacement(actor, wanted, None)

    def decide(situation: Situation) -> tuple[DomainEvent, ...]:
        change = new if isinstance(situation.state, Absent) else other
        return change.decide(situation)

    return Change(stream=wanted.stream, decide=decide, position=wanted.position)
