"""Label selectors as Kubernetes writes them in addresses: `a=b,c!=d,e in (f,g),h,!i`."""

import re

from headgate.api.problems import INVALID_REQUEST, ApiFailure
from headgate.api.schemas import ProblemError
from headgate.domain.values.selectors import LabelSelector, Operator, Requirement

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"[-A-Za-z0-9_.]*"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_PARTS = re.compile(r",(?![^(]*\))")


def label_selector(text: str | None) -> LabelSelector | None:
    """The selector a text stands for; None where there is none to apply."""
    if not text or not text.strip():
        return None
    requirements = [_requirement(part.strip(), text) for part in _PARTS.split(text)]
    return LabelSelector(match_expressions=tuple(requirements))


def equalities(selector: LabelSelector | None) -> dict[str, str]:
    """The part of a selector that compares for equality, which the database can search by."""
    if selector is None:
        return {}
    return {
        requirement.key: requirement.values[0]
        for requirement in selector.match_expressions
        if requirement.operator == "In" and len(requirement.values) == 1
    }


def _requirement(part: str, text: str) -> Requirement:
    if found := _EQUALS.fullmatch(part):
        key, sign, value = found.groups()
        operator: Operator = "NotIn" if sign == "!=" else "In"
        return Requirement(key=key, operator=operator, values=(value,))
    if found := _SET.fullmatch(part):
        key, word, listed = found.groups()
        values = tuple(value.strip() for value in listed.split(","))
        return Requirement(key=key, operator="In" if word == "in" else "NotIn", values=values)
    if found := _EXISTS.fullmatch(part):
        absent, key = found.groups()
        return Requirement(key=key, operator="DoesNotExist" if absent else "Exists")
    error = ProblemError(
        pointer="/labelSelector",
        rule=f"{part[:80]!r} is no requirement on a label.",
        remedy="Write it like a=b, a!=b, a in (b,c), a notin (b,c), a or !a.",
    )
    raise ApiFailure(
        INVALID_REQUEST, f"The label selector {text[:80]!r} cannot be read.", errors=(error,)
    )
