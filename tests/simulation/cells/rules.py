"""Rules of the protocol, each with a wrong one in its place that simulated days must notice."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from msgspec.structs import replace

from tests.simulation.cells import cell, executor, leases, moves
from tests.simulation.cells.leases import Lent, Taken
from tests.simulation.cells.messages import Submit
from tests.simulation.cells.state import Arrived, CellState, Job, Record

granted, taken, imported = leases.granted, leases.taken, moves.imported


def count_until_the_end(until: int) -> int:
    return until


def admit_until_the_end(until: int) -> int:
    return until


def take_every_copy(known: Taken | None, number: int, amount: int, until: int) -> Taken:
    return Taken(number, amount + (known.amount if known is not None else 0), until)


def take_returned_again(known: Taken | None, number: int, amount: int, until: int) -> Taken | None:
    if known is not None and known.is_returned and known.number == number:
        return Taken(number, amount, until)
    return taken(known, number, amount, until)


def grant_over_again(known: Lent | None, number: int, amount: int, now: int) -> Lent | None:
    if known is not None and known.is_over and number <= known.number:
        return Lent(number, amount, now + leases.LEASE)
    return granted(known, number, amount, now)


def grant_another_amount(known: Lent | None, number: int, amount: int, now: int) -> Lent | None:
    lease = granted(known, number, amount, now)
    return replace(lease, amount=amount) if lease is not None else None


def return_any(*_: object) -> bool:
    return True


def run_without_the_cell(*_: object) -> int:
    return leases.FOREVER


def redirect_nothing(*_: object) -> None:
    return None


def export_no_keys(*_: object) -> dict[str, str]:
    return {}


def admit_before_the_switch(state: CellState, queue: str) -> bool:
    return state.queues[queue].phase in {"active", "imported"}


def import_after_the_end(state: CellState, file: moves.Export) -> list[Record]:
    state.table.outcomes.pop((file.queue, file.move), None)
    return imported(state, file)


def take_transfers_twice(_: CellState, job: Job) -> list[Record]:
    return [Arrived(job)]


def submit_twice(self: cell.Cell, submit: Submit) -> None:
    here = self.state.queues.get(submit.queue)
    if here is not None and here.phase == "active":
        self.state.keys.pop(submit.key, None)
    SUBMIT(self, submit)


SUBMIT: Final = cell.Cell._submit  # noqa: SLF001

BROKEN: Final[dict[str, tuple[Any, str, Any]]] = {
    "a lender counts an amount until the skew is over": (
        leases, "counted_until", count_until_the_end,
    ),
    "a borrower drains before the end": (leases, "in_effect_until", admit_until_the_end),
    "a grant that comes twice raises quota once": (leases, "taken", take_every_copy),
    "a lease that was returned is void": (leases, "taken", take_returned_again),
    "a lease that is over is granted no more": (leases, "granted", grant_over_again),
    "a renewal has the amount of its lease": (leases, "granted", grant_another_amount),
    "a lease that workloads rest on is kept": (leases, "may_return", return_any),
    "executors stop pods at the end of a lease": (executor, "deadline_of", run_without_the_cell),
    "a queue that has moved redirects": (moves, "redirection", redirect_nothing),
    "keys move with their queue": (moves, "exported_keys", export_no_keys),
    "a queue is released after the switch": (moves, "is_schedulable", admit_before_the_switch),
    "a file that comes after the end of its move is void": (
        moves, "imported", import_after_the_end,
    ),
    "a workload that comes twice is taken once": (moves, "arrived", take_transfers_twice),
    "a key is answered from the log": (cell.Cell, "_submit", submit_twice),
}  # fmt: skip
"""By the rule that is left out."""


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Days inside it follow all rules but one."""
    owner, name, wrong = BROKEN[rule]
    with patch.object(owner, name, wrong):
        yield
