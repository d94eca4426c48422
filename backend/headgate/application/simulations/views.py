"""What a what-if answers."""

from typing import Literal

from headgate.application.queries.views import Free, Schema, Whole
from headgate.application.queries.workloads.explanations import AsOf, BlockerView, QueuePosition
from headgate.domain.foresight.difference import What
from headgate.domain.workloads.state import Phase

Verdict = Literal["Admitted", "MakesRoom", "Waits", "Gone"]


class VictimView(Whole, kw_only=True, frozen=True):
    """A workload that would have to go, and by which rule."""

    workload: str
    cluster_queue: str
    reason: str
    priority: int
    pods: int


class RoundView(Schema, kw_only=True, frozen=True):
    """Who would have to go for whom; `because` names a victim that comes back this way."""

    preemptor: str
    victims: list[VictimView]
    because: str = ""


class ForeseenView(Schema, kw_only=True, frozen=True):
    """What becomes of one workload: at once, and `in_the_end`, when all victims have stopped."""

    workload: str
    verdict: Verdict
    in_the_end: Verdict
    phase: Phase | None = None
    cluster_queue: str = ""
    sentence: str
    admission: Free | None = None
    victims: list[VictimView] = []
    position: QueuePosition | None = None
    dominant: str = ""
    blockers: list[BlockerView] = []
    would_unblock: list[str] = []


class EffectView(Schema, kw_only=True, frozen=True):
    """How another workload would fare: its phase at the end, without the change and with it."""

    workload: str
    cluster_queue: str = ""
    what: What
    without: Phase | None = None
    with_change: Phase | None = None


class SimulationView(Schema, kw_only=True, frozen=True):
    """What would happen, and on which assumptions; counted are the facts that would be decided."""

    as_of: AsOf
    workloads: list[ForeseenView]
    rounds: list[RoundView]
    effects: list[EffectView]
    starts: int
    evictions: int
    facts: int
    assumptions: list[str]
