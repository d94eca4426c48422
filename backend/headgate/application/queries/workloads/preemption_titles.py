"""What the facts that preemption adds to a workload's life are called."""

from collections.abc import Callable
from typing import Any

from headgate.application.queries.views import timestamp
from headgate.domain.values.message import MessageOrText
from headgate.domain.workloads import preemption_events as facts

PREEMPTION_TITLES: dict[type, Callable[[Any], tuple[str, MessageOrText]]] = {
    facts.PriorityDivergenceObserved: lambda e: (
        "Pods name another priority",
        ", ".join(f"{found.name}: {found.priority}" for found in e.pod_sets),
    ),
    facts.PriorityDivergenceCleared: lambda _: ("Pods have the workload's priority again", ""),
    facts.ProtectionChanged: lambda e: (
        "Protection changed",
        f"From {e.before} to {e.after}" + (f": {e.reason}" if e.reason else ""),
    ),
    facts.PreemptionGateOpened: lambda e: ("Preemption gate opened", e.gate),
    facts.PreemptionGateClosed: lambda e: ("Preemption gate closed", e.gate),
    facts.PreemptionWithheld: lambda e: (
        "May not preempt yet",
        f"Closed gates: {', '.join(e.gates)}",
    ),
    facts.WorkloadPodsEvicted: lambda e: (f"Pods evicted: {_pods(e.pods)}", e.message),
    facts.WorkloadShrunk: lambda e: (
        f"Goes on with {_pods(e.counts)}",
        f"{_pods(e.pods)} stopped; what they held is free",
    ),
    facts.EvictionExtended: lambda e: (
        "More time to save its work",
        f"Until {timestamp(e.deadline_at)}",
    ),
    facts.EvictionForced: lambda e: ("To be killed now", e.cause),
    facts.EvictionStalled: lambda _: ("Time is up, still stopping", "It is waited for"),
    facts.EvictionCancelled: lambda e: ("Eviction called back", e.cause),
    facts.WorkloadStopping: lambda e: (
        "Pods are being stopped",
        "Its quota is free" if e.releases_quota else "",
    ),
}


def _pods(pods: dict[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in pods.items())
