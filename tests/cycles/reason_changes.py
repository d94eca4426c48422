"""What decisions are compared by where one side may have looked more often than the other."""

from collections.abc import Iterable

from headgate.domain.cell import Cell
from headgate.domain.facts import DomainEvent
from headgate.domain.workloads.events import WorkloadExplained

Fact = tuple[str, DomainEvent]


def explained_streams(cell: Cell) -> frozenset[str]:
    """The streams of workloads that know why they wait."""
    return frozenset(
        f"workload/{key}" for key, found in cell.workloads.items() if found.explanation is not None
    )


def without_reason_changes(facts: Iterable[Fact], known: frozenset[str]) -> list[Fact]:
    """The facts but for what those are told anew who knew why they wait; nothing follows from it.

    Who looks more often has more to tell of how the shortage moves.
    """
    return [
        (stream, event)
        for stream, event in facts
        if not isinstance(event, WorkloadExplained) or stream not in known
    ]
