"""What each fact of a workload's life is called, one line for each type of event."""

from collections.abc import Callable
from typing import Any

from headgate.application.queries.views import timestamp
from headgate.application.queries.workloads.preemption_titles import PREEMPTION_TITLES
from headgate.domain.values.message import MessageOrText
from headgate.domain.workloads import events as facts
from headgate.domain.workloads.admission import hosts_of

MAX_TITLE_HOSTS = 8
"""Hosts that a line names; a large gang has hundreds."""

EventTitle = tuple[str, MessageOrText]
"""A title, and a detail that may be empty."""

EVENT_TITLES: dict[type, Callable[[Any], EventTitle]] = {
    facts.WorkloadSubmitted: lambda e: ("Submitted", _pods(e.spec)),
    facts.WorkloadSpecChanged: lambda e: ("Changed", _pods(e.spec)),
    facts.WorkloadExplained: lambda e: (f"Waits: {e.explanation.dominant}", e.explanation.sentence),
    facts.PlacementNominated: lambda e: ("Room is being made", _where(e.admission)),
    facts.NominationWithdrawn: lambda e: ("No more room is made", f"Round {e.round_id} ended"),
    facts.WorkloadQuotaReserved: lambda e: ("Quota reserved", _where(e.admission)),
    facts.WorkloadChecksRequired: lambda e: (
        "Other admission checks required",
        ", ".join(e.checks) or "None any more",
    ),
    facts.WorkloadCheckReported: lambda e: (f"Check {e.check}: {e.state}", e.message),
    facts.WorkloadAdmitted: lambda e: (
        "Admitted",
        f"After {_duration(e.waited_seconds)} of waiting",
    ),
    facts.WorkloadPodsReady: lambda e: ("All pods ready", "Again" if e.recovered else ""),
    facts.WorkloadPodsNotReady: lambda e: ("Pods no longer ready", e.message),
    facts.WorkloadPodsGone: lambda e: ("Pods gone from hosts", ", ".join(e.hosts)),
    facts.WorkloadHostsFailed: lambda e: ("Hosts failed", _failures(e.hosts)),
    facts.WorkloadHostsRecovered: lambda _: ("Hosts back", "Its pods may stay where they are"),
    facts.WorkloadPlaced: lambda e: (
        f"Replaced {', '.join(e.replaced)}" if e.replaced else "Hosts chosen",
        _hosts(e.admission),
    ),
    facts.WorkloadScaledDown: lambda e: ("Scaled down", _hosts(e.admission)),
    facts.WorkloadPodsReclaimed: lambda e: ("Pods ended for good", _reclaimed(e.reclaimable)),
    facts.WorkloadEvicted: lambda e: (f"Evicted: {e.reason}", e.message),
    facts.EvictionAcknowledged: lambda e: ("Eviction taken over", _handler(e)),
    facts.EvictionProgressed: lambda e: ("Still stopping", e.note),
    facts.WorkloadStopped: lambda _: ("Stopped", "Quota and hosts are free"),
    facts.ReservationDropped: lambda e: ("Reservation given back", e.reason),
    facts.WorkloadRequeued: lambda e: (f"Waits again: {e.reason}", ""),
    facts.RequeueCountReset: lambda _: ("Count of requeues reset", "Its pods stayed ready"),
    facts.WorkloadHeld: lambda e: (f"Held by {e.owner}", e.reason + _until(e.expires_at)),
    facts.WorkloadReleased: lambda e: ("Released", "The hold ran out" if e.expired else ""),
    facts.WorkloadDeactivated: lambda e: (f"Deactivated: {e.cause}", e.message),
    facts.WorkloadActivated: lambda _: ("Activated", ""),
    facts.WorkloadCancellationRequested: lambda e: ("Cancellation requested", e.message),
    facts.WorkloadFinished: lambda e: (e.reason, e.message),
    facts.WorkloadDeletionRequested: lambda _: ("Deletion requested", ""),
    facts.WorkloadDeleted: lambda _: ("Deleted", ""),
    **PREEMPTION_TITLES,
}


def title_of(event: object) -> EventTitle:
    """The title and detail of a workload's event."""
    return EVENT_TITLES[type(event)](event)


def _pods(spec: Any) -> str:  # noqa: ANN401 - a WorkloadSpec, as the table's lambdas see it
    pods = sum(pod_set.count for pod_set in spec.pod_sets)
    unit = "pod" if pods == 1 else "pods"
    return f"{pods} {unit} for queue {spec.queue_name or '(none)'}, priority {spec.priority}"


def _where(admission: Any) -> str:  # noqa: ANN401 - an Admission
    flavors = sorted({f for given in admission.pod_set_assignments for f in given.flavors.values()})
    return f"In {admission.cluster_queue} on {', '.join(flavors) or 'no flavor'}"


def _failures(hosts: dict[str, str]) -> str:
    return ", ".join(f"{host}: {why}" for host, why in hosts.items())


def _hosts(admission: Any) -> str:  # noqa: ANN401 - an Admission
    found = hosts_of(admission)
    rest = f" and {len(found) - MAX_TITLE_HOSTS} more" if len(found) > MAX_TITLE_HOSTS else ""
    return f"On {', '.join(found[:MAX_TITLE_HOSTS])}{rest}"


def _reclaimed(pods: dict[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in pods.items())


def _handler(event: Any) -> str:  # noqa: ANN401 - an EvictionAcknowledged
    by = f"By {event.handler}" if event.handler else ""
    return by + _until(event.expected_end_at)


def _until(at: int | None) -> str:
    return "" if at is None else f" until {timestamp(at)}"


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
