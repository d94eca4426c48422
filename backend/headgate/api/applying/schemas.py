"""What became of each applied object."""

from typing import Literal

from headgate.api.shapes import Position, Problem, Shape


class ApplyResult(Shape, kw_only=True, frozen=True):
    """What became of one object."""

    kind: str
    namespace: str = ""
    name: str
    outcome: Literal["created", "changed", "unchanged", "rejected"]
    resource_version: str | None = None
    problem: Problem | None = None


class ApplyResults(Shape, kw_only=True, frozen=True):
    """What became of each object, in the order given."""

    position: Position
    results: list[ApplyResult]
