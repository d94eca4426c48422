"""From a wish to see the past to the installation as it was then."""

from dataclasses import dataclass, replace

from headgate.application.application_services import ApplicationServices
from headgate.application.past.beginning import telling_what_is_archived
from headgate.application.past.cells import PastCells
from headgate.application.past.followers import PastFollowers
from headgate.application.past.log import PastLog
from headgate.application.past.models import PastModels
from headgate.application.past.moments import Moment, moment_at, moment_of_position
from headgate.application.past.reading import PastClock, PastReader
from headgate.domain.cell import Cell
from headgate.domain.rejection import InvalidRequest, Violation
from headgate.domain.values.instants import Instant


@dataclass(frozen=True, slots=True)
class Wish:
    """A position, or an instant; exactly one is given."""

    position: int | None = None
    at: Instant | None = None


async def as_it_was(services: ApplicationServices, wish: Wish) -> ApplicationServices:
    """The installation at a past moment; reads of it answer as they would have answered then.

    Raises `InvalidRequest` for what lies in the future, `Archived` for what was taken away,
    `Overloaded` when too many ask.
    """
    machine = services.past
    moment, cell = await machine.executor.do(lambda: _tell(services, machine.cells, wish))
    log = PastLog(services.log, moment, cell.version_of)
    return replace(
        services,
        log=log,
        models=PastModels(cell, moment, services.log, services.models),
        followers=PastFollowers(services.followers, moment),
        clock=PastClock(moment.at),
        reader=PastReader(cell),
    )


def _tell(services: ApplicationServices, cells: PastCells, wish: Wish) -> tuple[Moment, Cell]:
    with telling_what_is_archived(services.log):
        return _go(services, cells, wish)


def _go(services: ApplicationServices, cells: PastCells, wish: Wish) -> tuple[Moment, Cell]:
    head = services.log.head()
    if wish.position is not None:
        _refuse(wish.position > head, f"The log stands at position {head}.")
        moment = moment_of_position(services.log, wish.position)
    else:
        assert wish.at is not None, "a wish names a position or an instant"
        _refuse(wish.at > services.log.now(), "It lies in the future.")
        moment = moment_at(services.log, wish.at)
    return moment, cells.at(moment.position)


def _refuse(is_wrong: bool, rule: str) -> None:  # noqa: FBT001 - what was just found out
    if is_wrong:
        remedy = "Name a position or a time that has been."
        violation = Violation(pointer="/at", rule=rule, remedy=remedy)
        detail = "That moment has not been yet."
        raise InvalidRequest(detail, remedy=remedy, violations=(violation,))
