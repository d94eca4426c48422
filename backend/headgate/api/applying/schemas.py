"""What became of each applied object."""

from typing import Literal

from headgate.api.schemas import Position, Problem, Schema
from headgate.application.queries.overview.advice import AdviceView


class ApplyResult(Schema, kw_only=True, frozen=True):
    """What became of one object."""

    kind: str
    namespace: str = ""
    name: str
    outcome: Literal["created", "changed", "unchanged", "rejected"]
    resource_version: str | None = None
    problem: Problem | None = None


class ApplyResults(Schema, kw_only=True, frozen=True):
    """What became of each object, in the order given.

    `warnings` tell what is allowed in the configured objects among them and hardly meant, and which
    workloads are taken and kept out by the queue they name.
    """

    position: Position
    results: list[ApplyResult]
    warnings: list[AdviceView] = []
