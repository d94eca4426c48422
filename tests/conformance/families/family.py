"""What a family of cases is: how it is put to the engine, and which gates it can do with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.conformance.cases import Case

Drive = Callable[[Case], Iterable[str]]
"""Runs a case; yields what differs from what it wants."""


def no_gate(case: Case, gate: str) -> bool:
    """No feature that Kueue leaves off by default."""
    return False


@dataclass(frozen=True, slots=True)
class Family:
    """`knows` says whether a gate's feature is there, or without effect on that case."""

    drive: Drive
    knows: Callable[[Case, str], bool] = no_gate
