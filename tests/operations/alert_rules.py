"""Evaluates alert rules on recorded series: the part of PromQL that `deploy/alerts.yaml` needs.

Selectors with `=` matchers, `time()`, `absent`, `rate`, aggregations with `by`, a difference from a
number, ratios of series with equal labels, comparisons with a number, and `for`. Whatever else a
rule says is refused, so that none is judged by half.
"""

import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
Value: TypeAlias = float | Vector
Series: TypeAlias = dict[tuple[str, Labels], list[float | None]]

NAME = "__name__"
TOKEN = re.compile(
    r"\s*([A-Za-z_:][A-Za-z0-9_:]*|\d+(?:\.\d+)?|>=|<=|==|!=|[-+/{}(),=<>\[\]]|\"[^\"]*\")"
)
SERIES = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?$")
LABEL = re.compile(r'([A-Za-z_]\w*)="([^"]*)"')
STALE_MINUTES = 5
AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {
    "max": max, "min": min, "sum": sum, "count": lambda values: float(len(values)),
}  # fmt: skip
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "==": operator.eq,
}  # fmt: skip


def recorded(inputs: list[dict[str, str]]) -> Series:
    """Series with a sample a minute, as promtool writes them: `0x3 1x5 _x2 0+60x5`."""
    found: Series = {}
    for each in inputs:
        match = SERIES.match(each["series"])
        assert match is not None, each["series"]
        values: list[float | None] = []
        for part in each["values"].split():
            value, _, times = part.partition("x")
            first, _, step = value.partition("+")
            if value == "_":
                values += [None] * int(times or 1)
            else:
                values += [
                    float(first) + float(step or 0) * number
                    for number in range(int(times or 0) + 1)
                ]
        found[match[1], frozenset(LABEL.findall(match[2] or ""))] = values
    return found


class Expression:
    """A parsed expression, evaluated at a minute."""

    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.findall(text)
        assert "".join(self._tokens) == re.sub(r"\s+", "", text), f"cannot be read: {text}"

    def at(self, series: Series, minute: int) -> Vector:
        """The elements of the result; a rule fires for each."""
        self._place, self._series, self._minute = 0, series, minute
        found = self._comparison()
        assert self._place == len(self._tokens), self._tokens[self._place :]
        assert isinstance(found, dict), "an alert is a vector"
        return found

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        assert not wanted or token == wanted, f"{wanted} is missing before {token}"
        self._place += 1
        return token

    def _comparison(self) -> Value:
        left = self._difference()
        if self._peek() not in COMPARISONS:
            return left
        holds, right = COMPARISONS[self._take()], self._difference()
        assert isinstance(left, dict), "only vectors are compared"
        assert isinstance(right, float), "they are compared with numbers"
        return {labels: value for labels, value in left.items() if holds(value, right)}

    def _difference(self) -> Value:
        found = self._ratio()
        while self._peek() == "-":
            self._take()
            right = self._ratio()
            assert isinstance(found, float), "a vector is subtracted from a number"
            assert isinstance(right, dict), "a vector is subtracted from a number"
            number = found
            found = {_unnamed(labels): number - value for labels, value in right.items()}
        return found

    def _ratio(self) -> Value:
        """Series without an equal on the other side have no result, as in PromQL."""
        found = self._operand()
        while self._peek() == "/":
            self._take()
            left, right = found, self._operand()
            assert isinstance(left, dict), "only vectors are divided"
            assert isinstance(right, dict), "they are divided by vectors"
            dividends = {_unnamed(labels): value for labels, value in left.items()}
            divisors = {_unnamed(labels): value for labels, value in right.items()}
            found = {
                labels: _quotient(value, divisors[labels])
                for labels, value in dividends.items()
                if labels in divisors
            }
        return found

    def _operand(self) -> Value:
        token = self._take()
        if token[0].isdigit():
            return float(token)
        if token == "time":
            self._take("(")
            self._take(")")
            return self._minute * 60.0
        if token == "absent":
            inner = self._in_parentheses()
            return {} if inner else {frozenset(): 1.0}
        if token == "rate":
            return self._rate()
        if token in AGGREGATIONS:
            return self._aggregation(AGGREGATIONS[token])
        assert token.isidentifier(), f"{token} is no selector"
        return self._selector(token)

    def _in_parentheses(self) -> Vector:
        self._take("(")
        found = self._comparison()
        self._take(")")
        assert isinstance(found, dict), "a vector is wanted"
        return found

    def _aggregation(self, aggregate: Callable[[list[float]], float]) -> Vector:
        kept: list[str] = []
        if self._peek() == "by":
            self._take()
            self._take("(")
            while self._peek() != ")":
                kept.append(self._take())
                if self._peek() == ",":
                    self._take()
            self._take(")")
        groups: dict[Labels, list[float]] = {}
        for labels, value in self._in_parentheses().items():
            group = frozenset((name, text) for name, text in labels if name in kept)
            groups.setdefault(group, []).append(value)
        return {group: float(aggregate(values)) for group, values in groups.items()}

    def _rate(self) -> Vector:
        """The rise a second between the first and the last sample of a range, resets counted in.

        Prometheus extrapolates to the ends of the range, which its rules do not depend on.
        """
        self._take("(")
        name = self._take()
        wanted = self._matchers()
        self._take("[")
        minutes = minutes_of(self._take() + self._take())
        self._take("]")
        self._take(")")
        found: Vector = {}
        for (of_name, labels), values in self._series.items():
            window = values[max(0, self._minute - minutes) : self._minute + 1]
            samples = [(at, each) for at, each in enumerate(window) if each is not None]
            if of_name == name and wanted.items() <= dict(labels).items() and len(samples) > 1:
                pairs = itertools.pairwise(value for _, value in samples)
                rise = sum(after - before if after >= before else after for before, after in pairs)
                found[labels] = rise / (60.0 * (samples[-1][0] - samples[0][0]))
        return found

    def _selector(self, name: str) -> Vector:
        wanted = self._matchers()
        found: Vector = {}
        for (of_name, labels), values in self._series.items():
            if of_name == name and wanted.items() <= dict(labels).items():
                window = values[max(0, self._minute - STALE_MINUTES + 1) : self._minute + 1]
                latest = next((each for each in reversed(window) if each is not None), None)
                if latest is not None:
                    found[labels | {(NAME, name)}] = latest
        return found

    def _matchers(self) -> dict[str, str]:
        wanted: dict[str, str] = {}
        if self._peek() == "{":
            self._take()
            while self._peek() != "}":
                label = self._take()
                self._take("=")
                wanted[label] = self._take().strip('"')
                if self._peek() == ",":
                    self._take()
            self._take("}")
        return wanted


def _unnamed(labels: Labels) -> Labels:
    return frozenset(each for each in labels if each[0] != NAME)


def _quotient(dividend: float, divisor: float) -> float:
    if divisor == 0:
        return math.nan if dividend == 0 else math.inf
    return dividend / divisor


def firing(rule: Mapping[str, Any], series: Series, minute: int) -> list[dict[str, str]]:
    """The labels of each alert of a rule that fires at a minute, without its name."""
    expression, wait = Expression(rule["expr"]), minutes_of(rule.get("for", "0m"))
    since: dict[Labels, int] = {}
    for now in range(minute + 1):
        active = {_unnamed(labels) for labels in expression.at(series, now)}
        since = {labels: since.get(labels, now) for labels in active}
    return [
        {**dict(labels), **rule["labels"]}
        for labels, begin in sorted(since.items(), key=lambda each: sorted(each[0]))
        if minute - begin >= wait
    ]


def minutes_of(text: str) -> int:
    """Whole minutes of `15m` or `1h`."""
    return int(text[:-1]) * {"m": 1, "h": 60}[text[-1]]
