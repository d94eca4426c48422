"""Preemption rounds."""

import msgspec

from headgate.api.shapes import Position, Shape, Timestamp
from headgate.api.workloads.schemas import AdmissionShape


class VictimShape(Shape, kw_only=True, frozen=True):
    """One workload that had to go; `freed` is in base units by `flavor/resource`."""

    workload: str
    cluster_queue: str
    reason: str
    priority: int
    pods: int
    freed: dict[str, int]
    running_seconds: int
    released: bool


class RoundShape(Shape, kw_only=True, frozen=True):
    """One preemption from decision to end."""

    id: str
    stage: str
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: AdmissionShape
    victims: list[VictimShape]
    considered: int
    refused: list[dict[str, str]] = []
    basis_position: Position
    committed_at: Timestamp
    ended_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    outcome: str = ""


class RoundPage(Shape, kw_only=True, frozen=True):
    """Rounds, newest first."""

    position: Position
    items: list[RoundShape]
    continue_: str | None = msgspec.field(default=None, name="continue")
