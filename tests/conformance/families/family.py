"""What a family of cases is: how it is put to the engine, and which gates it can do with."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tests.conformance.cases import Case

Drive = Callable[[Case], Iterable[str]]
"""Runs a case; yields what differs from what it wants."""


def no_gate(case: Case, gate: str) -> bool:
    """No feature that Kueue leaves off by default."""
    return False


EVERYWHERE = {
    "shared.now": "the clock of every test, the same in all",
    "inputs.params": "the variables of the loop, which stand among inputs and setup as well",
    "shared.defaultOrdering": "the order that is ours by default",
    "shared.defaultNamespace": "where objects without a namespace live",
}
"""What no family needs to read, and why."""


@dataclass(frozen=True, slots=True)
class Family:
    """`knows` says whether a gate's feature is there, or without effect on that case.

    `unread` are the fields that the family knowingly passes over, each with the reason. Any other
    that a case has and the family does not read fails the case.
    """

    drive: Drive
    knows: Callable[[Case, str], bool] = no_gate
    unread: Mapping[str, str] = field(default_factory=dict)

    def missed(self, case: Case) -> list[str]:
        """The fields of a case that was run which the family should have read."""
        return [
            name for name in case.unread() if name not in EVERYWHERE and name not in self.unread
        ]
