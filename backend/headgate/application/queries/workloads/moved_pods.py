"""What became of pods whose hosts were lost, in a sentence for the explanation of who runs."""

from collections.abc import Sequence

from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadHostsFailed,
    WorkloadPlaced,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
)

MAX_LISTED_HOSTS = 3


def moved_pods(past: Sequence[RecordedEvent]) -> str:
    """Which hosts failed last since it was admitted and which took their pods; else empty."""
    told = ""
    stands_on: tuple[str, ...] = ()
    reasons: dict[str, str] = {}
    for recorded in past:
        match recorded.event:
            case WorkloadAdmitted():
                told = ""
            case WorkloadQuotaReserved(admission=admission):
                told, stands_on = "", hosts_of(admission)
            case WorkloadHostsFailed(hosts=hosts):
                reasons = hosts
            case WorkloadPlaced(admission=admission, replaced=replaced):
                before, stands_on = stands_on, hosts_of(admission)
                if replaced:
                    lost = [f"{host} ({reasons.get(host, 'lost')})" for host in replaced]
                    new = [host for host in stands_on if host not in before]
                    told = _sentence(lost, new or list(stands_on))
            case WorkloadScaledDown(admission=admission):
                stands_on = hosts_of(admission)
            case _:
                pass
    return told


def _sentence(lost: list[str], new: list[str]) -> str:
    return f"Its pods on {_listed(lost)} were moved to {_listed(new)}."


def _listed(hosts: list[str]) -> str:
    more = len(hosts) - MAX_LISTED_HOSTS
    return ", ".join(hosts[:MAX_LISTED_HOSTS]) + (f" and {more} more" if more > 0 else "")
