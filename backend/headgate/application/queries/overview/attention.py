"""What a person should look at: queues that admit nothing, absent hosts, work that is stuck."""

from collections.abc import Iterable, Iterator

from headgate.application.access.redaction import FOREIGN_WORKLOAD, NamespaceScope
from headgate.application.cooperative import Cooperative, at_once, each
from headgate.application.queries.overview.config_warnings import advice
from headgate.application.queries.overview.unschedulable import UNSCHEDULABLE
from headgate.application.queries.overview.views import Attention
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_activity import cluster_queue_activity
from headgate.domain.scheduling.local_queue_ranking import local_queue_ranks
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.state import Workload, condition, phase_of
from headgate.domain.workloads.transitions.partial_eviction import (
    evicting_pods,
    oldest_ongoing_eviction,
)

LONG_START_SECONDS = 600
LONG_EVICTION_SECONDS = 300
LONG_HEAD_SECONDS = 3_600
"""A strict line that has not moved for so long is told, whatever its head waits for."""
MAX_PER_KIND = 10
NEVER_STARTS = "It cannot start as things are configured"
LONG_AGO = "It has been the first for a long time"
SEVERITY_ORDER = {"critical": 0, "warning": 1, "info": 2}


def needing_attention(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> list[Attention]:
    """All of it, in no order."""
    return at_once(find_attention(cluster_state, at, scope))


def find_attention(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[list[Attention]]:
    """The same in steps, as every workload is looked at."""
    found = [*_queues(cluster_state), *_nodes(cluster_state)]
    found += yield from each(_blocked_lines(cluster_state, at, scope))
    found += _configuration(cluster_state, scope)
    found += yield from _workloads(cluster_state, at, scope)
    if scope is None:
        found += _quarantined(cluster_state)
    return found


def attention(cluster_state: ClusterState, at: Instant, scope: NamespaceScope) -> list[Attention]:
    """The worst first; of each kind only the first few."""
    return most_severe(needing_attention(cluster_state, at, scope))


def most_severe(found: Iterable[Attention]) -> list[Attention]:
    """The worst first; of each kind only the first few."""
    few: list[Attention] = []
    for one in sorted(found, key=lambda a: (SEVERITY_ORDER[a.severity], a.kind, a.title)):
        if sum(other.kind == one.kind for other in few) < MAX_PER_KIND:
            few.append(one)
    return few


def _queues(cluster_state: ClusterState) -> Iterator[Attention]:
    for name in sorted(cluster_state.config.cluster_queues):
        activity = cluster_queue_activity(cluster_state.config, name)
        if activity.active:
            continue
        waiting = cluster_state.partition_index.counts.get(f"clusterqueue/{name}", {}).get(
            "Pending", 0
        )
        stopped = activity.reason == "Stopped"
        yield Attention(
            kind="QueueInactive",
            severity="info" if stopped and not waiting else "warning",
            title=f"ClusterQueue {name} admits nothing",
            detail=f"{activity.message.removesuffix('.')}. {_pending_count_text(waiting)}.",
            link=f"/queues/{name}",
            stream=f"clusterqueue/{name}",
        )


def _blocked_lines(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Iterator[Attention]:
    """Strict lines behind a head that can never start as things are configured (trap T21).

    So are those behind one that has waited for very long while others could perhaps start.
    """
    for name, key in sorted(cluster_state.partition_index.of_cluster_queue.items()):
        line = cluster_state.partition(key).pending[name]
        first = (
            line.first(local_queue_ranks(cluster_state, name, cluster_state.changed_at))
            if line.strict
            else None
        )
        head = cluster_state.workloads.get(first or "")
        if head is None or head.explanation is None:
            continue
        behind = len(line.in_heap) - 1
        is_hopeless = head.explanation.dominant in UNSCHEDULABLE
        if not is_hopeless and (not behind or _waited_seconds(head, at) < LONG_HEAD_SECONDS):
            continue
        is_open = scope is None or head.namespace in scope
        who = head.key if is_open else FOREIGN_WORKLOAD
        untold = NEVER_STARTS if is_hopeless else LONG_AGO
        yield Attention(
            kind="HeadOfLineBlocking",
            severity="warning",
            title=f"ClusterQueue {name} starts nothing behind {who}",
            detail=f"{head.explanation.sentence if is_open else untold}. "
            f"{_pending_count_text(behind, 'behind it')}.",
            link=f"/workloads/{head.key}" if is_open else f"/queues/{name}",
            stream=workload_stream(head.key) if is_open else "",
        )


def _configuration(cluster_state: ClusterState, scope: NamespaceScope) -> Iterator[Attention]:
    """What is allowed and hardly meant; a queue that is inactive for it says so by itself."""
    for one in advice(cluster_state, scope).items:
        if one.severity == "warning" and one.rule != "MissingReference":
            name = f"{one.namespace}/{one.name}" if one.namespace else one.name
            yield Attention(
                kind="Configuration",
                severity="warning",
                title=f"{one.kind} {name} is most likely not meant so",
                detail=f"{one.message} {one.remedy}",
                link=f"/queues/{one.name}" if one.kind == "ClusterQueue" else "/queues",
                stream=f"{one.kind.lower()}/{name}",
            )


def _pending_count_text(count: int, where: str = "") -> str:
    match count:
        case 0:
            told = "Nobody waits"
        case 1:
            told = "1 workload waits"
        case _:
            told = f"{count} workloads wait"
    return f"{told} {where}".rstrip()


def _nodes(cluster_state: ClusterState) -> Iterator[Attention]:
    for name, node in sorted(cluster_state.config.nodes.items()):
        if not node.spec.ready:
            yield Attention(
                kind="NodeNotReady",
                severity="warning",
                title=f"Node {name} is not ready",
                detail="It takes no pods; workloads with pods there may be moved.",
                link="/topology",
                stream=f"node/{name}",
            )


def _workloads(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[list[Attention]]:
    found: list[Attention] = []
    for workload in tuple(cluster_state.workloads.values()):
        if scope is None or workload.namespace in scope:
            found += _workload(workload, at)
        yield
    return found


def _workload(workload: Workload, at: Instant) -> Iterator[Attention]:
    phase = phase_of(workload)
    link = f"/workloads/{workload.key}"
    if phase == "Inactive":
        yield Attention(
            kind="WorkloadInactive",
            severity="warning",
            title=f"{workload.key} is inactive",
            detail="It competes for nothing until somebody activates it.",
            link=link,
            stream=workload_stream(workload.key),
        )
    elif phase == "Starting" and _seconds_since(workload, "Admitted", at) > LONG_START_SECONDS:
        yield Attention(
            kind="NotStarted",
            severity="warning",
            title=f"{workload.key} was admitted and has not started",
            detail="Its pods are not ready; it holds its quota meanwhile.",
            link=link,
            stream=workload_stream(workload.key),
        )
    elif _eviction_seconds(workload, at) > LONG_EVICTION_SECONDS:
        yield Attention(
            kind="EvictionStalled",
            severity="critical",
            title=f"{workload.key} does not stop",
            detail=_what_it_holds(workload),
            link=link,
            stream=workload_stream(workload.key),
        )


def _quarantined(cluster_state: ClusterState) -> Iterator[Attention]:
    for stream, reason in sorted(cluster_state.quarantined.items()):
        yield Attention(
            kind="SetAside",
            severity="critical",
            title=f"{stream} is left out",
            detail=reason,
            link=f"/events?stream={stream}",
            stream=stream,
        )


def _seconds_since(workload: Workload, kind: str, at: Instant) -> int:
    found = condition(workload, kind)  # type: ignore[arg-type]
    return 0 if found is None else (at - found.last_transition_at) // MICROSECONDS_PER_SECOND


def _waited_seconds(workload: Workload, at: Instant) -> int:
    return (at - workload.created_at) // MICROSECONDS_PER_SECOND


def _eviction_seconds(workload: Workload, at: Instant) -> int:
    eviction = oldest_ongoing_eviction(workload)
    return 0 if eviction is None else (at - eviction.started_at) // MICROSECONDS_PER_SECOND


def _what_it_holds(workload: Workload) -> str:
    if workload.eviction is not None:
        return f"It was evicted ({workload.eviction.reason}) and still holds its quota."
    going = evicting_pods(workload.pod_evictions)
    pods = ", ".join(f"{count} of {name}" for name, count in going.items())
    return f"It is to give up pods ({pods}) and still holds their quota."
