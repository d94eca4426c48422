"""Preemption rounds."""

from typing import Literal

import msgspec

from headgate.api.schemas import Position, Schema, Timestamp
from headgate.api.workloads.schemas import Admission

VictimStage = Literal[
    "Requested", "Acknowledged", "Stalled", "Forced", "Stopping",
    "Released", "Cancelled", "LeftLater",
]  # fmt: skip


class RoundQuota(Schema, kw_only=True, frozen=True):
    """One flavor's resource in one ClusterQueue at that moment, in base units."""

    cluster_queue: str
    flavor: str
    resource: str
    nominal: int
    used: int
    wanted: int
    available: int


class Victim(Schema, kw_only=True, frozen=True):
    """One workload that had to go; `freed` is in base units by `flavor/resource`.

    `lost` is that times the seconds it had run; `violates` names budgets that its going breaks.
    With `shrinks_to` only `pods` of it go, so many of each of these pod sets stay, and it goes on.
    """

    workload: str
    cluster_queue: str
    reason: str
    priority: int
    pods: int
    freed: dict[str, int]
    running_seconds: int
    released: bool
    cohort: str = ""
    protection: int = 0
    lost: dict[str, int] = {}
    shrinks_to: dict[str, int] = {}
    violates: list[str] = []
    stage: VictimStage
    mode: Literal["Immediate", "Soft"]
    deadline_at: Timestamp | None = None
    handler: str = ""
    note: str = ""


class PreemptionRound(Schema, kw_only=True, frozen=True):
    """One preemption from decision to end."""

    id: str
    stage: str
    preemptor: str
    preemptor_priority: int
    cluster_queue: str
    admission: Admission
    victims: list[Victim]
    considered: int
    refused: list[dict[str, str]] = []
    cohort: str = ""
    guaranteeing: bool
    budget_violations: int
    figures: list[RoundQuota] = []
    invalidated_by: str = ""
    started_at: Timestamp | None = None
    basis_position: Position
    committed_at: Timestamp
    ended_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    outcome: str = ""


class ChainLink(Schema, kw_only=True, frozen=True):
    """`workload` was a victim of round `from` and the preemptor of round `to`."""

    from_: str = msgspec.field(name="from")
    to: str
    workload: str


class RoundChain(Schema, kw_only=True, frozen=True):
    """The rounds that hang together with one, oldest first."""

    position: Position
    rounds: list[PreemptionRound]
    links: list[ChainLink]


class RoundPage(Schema, kw_only=True, frozen=True):
    """Rounds, newest first."""

    position: Position
    items: list[PreemptionRound]
    continue_: str | None = msgspec.field(default=None, name="continue")
