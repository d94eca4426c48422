"""What becomes of a case: passed, failed, listed as a deliberate difference, or skipped."""

import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from tests.conformance.cases import Case
from tests.conformance.families.catalogue import FAMILIES
from tests.conformance.families.family import Family
from tests.conformance.rules import matching

DIFFERENCES = Path(__file__).parent / "differences.toml"

Outcome = Literal["passed", "failed", "listed", "skipped"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case, what there is to say about it, and the rules that apply to it."""

    file: str
    name: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def judge(case: Case) -> Verdict:
    """Put a case to the engine.

    Skipped are cases of gates that are off by default with a feature that is not there, and cases
    of parts that are no step of ours (classes B and bonus without a family).
    """
    family = FAMILIES.get(case.test)
    if family is None:
        if case.kind != "A" or case.gates:
            return _verdict(case, "skipped", ("no step of ours",))
        return _verdict(case, "failed", ("nothing answers this kind of case yet",))
    foreign = [gate for gate in case.gates if not family.knows(case, gate)]
    if foreign:
        return _verdict(case, "skipped", (f"needs {', '.join(foreign)}",))
    if case.unknown:
        return _verdict(case, "failed", tuple(f"unknown key {name}" for name in case.unknown))
    found = _differences(case, family)
    rules = _rules(case, family)
    if not found:
        return _verdict(case, "passed", rules=rules)
    if rules:
        return _verdict(case, "listed", (listed_rules()[rules[0]].reason,), rules)
    return _verdict(case, "failed", found)


def counted(verdicts: Iterable[Verdict]) -> Counter[str]:
    """How many of each outcome."""
    return Counter(verdict.outcome for verdict in verdicts)


class Trap(msgspec.Struct, frozen=True, kw_only=True):
    """What Headgate does where Kueue is wrong by its own admission, and the test that holds it."""

    reason: str
    held_by: str


class ListedRule(msgspec.Struct, frozen=True, kw_only=True):
    """Why we decide otherwise, and the trap of Kueue that it comes from, if it does."""

    reason: str
    trap: str = ""


@cache
def listed_rules() -> dict[str, ListedRule]:
    """The rules by which we deliberately decide otherwise, by their names."""
    with DIFFERENCES.open("rb") as file:
        return msgspec.convert(tomllib.load(file)["rules"], dict[str, ListedRule])


@cache
def avoided_traps() -> dict[str, Trap]:
    """The traps of Kueue that we do not step into, by their number in the reference."""
    with DIFFERENCES.open("rb") as file:
        return msgspec.convert(tomllib.load(file)["traps"], dict[str, Trap])


def _rules(case: Case, family: Family) -> list[str]:
    try:
        return matching(case, family)
    except (LookupError, TypeError, ValueError, AttributeError):
        return []  # A case of another form than the rules know is none of theirs.


def _differences(case: Case, family: Family) -> tuple[str, ...]:
    try:
        found = tuple(family.drive(case))
    except Exception as error:  # noqa: BLE001 - a case that crashes the engine is a failed one
        return (f"{type(error).__name__}: {error}",)
    return found or tuple(f"{name} is not read" for name in family.missed(case))


def _verdict(
    case: Case, outcome: Outcome, reasons: tuple[str, ...] = (), rules: Iterable[str] = ()
) -> Verdict:
    return Verdict(
        file=case.file.name,
        name=case.name,
        outcome=outcome,
        reasons=reasons,
        rules=tuple(rules),
    )
