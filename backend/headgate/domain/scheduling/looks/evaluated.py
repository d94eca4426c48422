"""What one look at a workload found."""

import msgspec

from headgate.domain.scheduling.answers import FlavorTry, Mode, Unplaced, VictimSearch
from headgate.domain.scheduling.preemption.claims import Victim
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.state import Workload


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """How a workload fits now.

    FIT: `admission` may be reserved at once. DEFERRED: it fits at `admission` once those already
    leaving have left. PREEMPT: it fits there once `victims` have. NO_FIT: `tries`, `unplaced` and
    `search` say why; `wanted` is what it would take if nobody stood in its way, and `nowhere` pairs
    pod sets with flavors whose hosts would not do even empty.
    `lost_place`: the place an open round keeps for it cannot be had any more. `breaks` names the
    open rounds that do not bind it and may lose their place to it.
    """

    workload: Workload
    cluster_queue: str
    mode: Mode
    level: int = 0
    admission: Admission | None = None
    tries: tuple[FlavorTry, ...] = ()
    unplaced: tuple[tuple[str, str, Unplaced], ...] = ()
    victims: tuple[Victim, ...] = ()
    search: VictimSearch | None = None
    lost_place: bool = False
    wanted: Admission | None = None
    nowhere: tuple[tuple[str, str], ...] = ()
    breaks: tuple[str, ...] = ()
