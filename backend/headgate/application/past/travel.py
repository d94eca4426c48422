"""From a wish to see the past to the installation as it was then."""

from dataclasses import dataclass, replace

from headgate.application.installation import Installation
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


async def as_it_was(installation: Installation, wish: Wish) -> Installation:
    """The installation at a past moment; reads of it answer as they would have answered then.

    Raises `InvalidRequest` for what lies in the future, `Archived` for what was taken away,
    `Overloaded` when too many ask.
    """
    machine = installation.past
    moment, cell = await machine.backstage.do(lambda: _tell(installation, machine.cells, wish))
    log = PastLog(installation.log, moment, cell.version_of)
    return replace(
        installation,
        log=log,
        models=PastModels(cell, moment, installation.log, installation.models),
        followers=PastFollowers(installation.followers, moment),
        clock=PastClock(moment.at),
        reader=PastReader(cell),
    )


def _tell(installation: Installation, cells: PastCells, wish: Wish) -> tuple[Moment, Cell]:
    with telling_what_is_archived(installation.log):
        return _go(installation, cells, wish)


def _go(installation: Installation, cells: PastCells, wish: Wish) -> tuple[Moment, Cell]:
    head = installation.log.head()
    if wish.position is not None:
        _refuse(wish.position > head, f"The log stands at position {head}.")
        moment = moment_of_position(installation.log, wish.position)
    else:
        assert wish.at is not None, "a wish names a position or an instant"
        _refuse(wish.at > installation.log.now(), "It lies in the future.")
        moment = moment_at(installation.log, wish.at)
    return moment, cells.at(moment.position)


def _refuse(is_wrong: bool, rule: str) -> None:  # noqa: FBT001 - what was just found out
    if is_wrong:
        remedy = "Name a position or a time that has been."
        violation = Violation(pointer="/at", rule=rule, remedy=remedy)
        detail = "That moment has not been yet."
        raise InvalidRequest(detail, remedy=remedy, violations=(violation,))
