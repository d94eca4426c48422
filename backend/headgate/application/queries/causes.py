"""What needs attention, grouped by cause: how many objects it concerns, and what it costs.

And chains of preemption rounds: victims of one round that are preemptors of a later one.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative
from headgate.application.ports import ReadModels
from headgate.application.queries.attention import SEVERITY_ORDER, Attention, failed_lately
from headgate.application.queries.views import (
    Position,
    Timestamp,
    Whole,
    timestamp,
    timestamp_or_none,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.acknowledgment import AcknowledgmentSpec, holds
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.recorded_event import kind_and_key
from headgate.domain.rounds.state import Round
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workload_index import Unlisted
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Workload, condition
from headgate.messages.catalogue import text_of

Severity = Literal["info", "warning", "critical"]
CauseState = Literal["Open", "Acknowledged", "Snoozed"]
Unit = Literal["Workload", "Node", "Object"]


class AcknowledgmentView(Whole, kw_only=True, frozen=True):
    """The user who acknowledged a cause, when and why; with an end it is a snooze."""

    by: str
    at: Timestamp
    reason: str = ""
    until: Timestamp | None = None


class Cause(Whole, kw_only=True, frozen=True):
    """Alerts with one cause. `count` is of objects, of which `items` are the first.

    `gpuSeconds` is what it has cost so far: the GPUs of each object times the seconds since its
    alert began, or that a failed workload had run. `key` names the cause as long as it lasts. Of a
    cause that is acknowledged or snoozed webhooks are told nothing until it changes.
    """

    key: str
    kind: str
    severity: Severity
    title: str
    unit: Unit
    count: int
    gpu_seconds: int
    since: Timestamp | None
    link: str
    items: list[Attention]
    state: CauseState
    acknowledgment: AcknowledgmentView | None = None


class Causes(Whole, kw_only=True, frozen=True):
    """The most severe and most costly first."""

    position: Position
    at: Timestamp
    causes: list[Cause]


class Impact(msgspec.Struct, frozen=True):
    """Of one alert: since when, how many objects, and the GPU-seconds it has cost."""

    since: Instant | None = None
    count: int = 1
    gpu_seconds: int = 0


TITLES: Mapping[str, Message] = {
    "NeverStarts": message("UnschedulableWorkloads"),
    "WorkloadInactive": message("InactiveWorkloads"),
    "WorkloadRetrying": message("RetryingWorkloads"),
    "WorkloadOnHold": message("WorkloadsOnHold"),
    "NotStarted": message("WorkloadsNotStarted"),
    "EvictionStalled": message("StalledEvictions"),
    "WorkloadsFailed": message("FailedWorkloads"),
    "QueueInactive": message("InactiveClusterQueues"),
    "HeadOfLineBlocking": message("BlockedStrictQueues"),
    "Configuration": message("ConfigurationWarnings"),
    "NoExecutorConnected": message("FlavorsWithoutExecutor"),
    "OrphanedPods": message("ExecutorsWithOrphans"),
    "Starvation": message("StarvingWorkloads"),
    "Thrash": message("PreemptionLoops"),
    "PredictionMissed": message("PredictionsMissed"),
    "Quarantined": message("SkippedStreams"),
}
"""Of causes with several alerts; all other causes have one alert and take its title."""
MAX_ITEMS = 50
GPU = "gpu"


def gpus_of(amounts: Mapping[str, int]) -> int:
    """The number of GPUs among amounts, of whatever maker."""
    return sum(n for name, n in amounts.items() if name.rpartition("/")[2] == GPU)


def causes_of(
    services: ApplicationServices,
    found: Iterable[Attention],
    others: Mapping[str, Unlisted],
    scope: NamespaceScope,
) -> Cooperative[Causes]:
    """Alerts grouped by cause; `others` are the workloads of each kind that no alert names."""
    cluster_state, now = services.reader.cluster_state, services.clock.now()
    lost = yield from _lost_by_failures(cluster_state, now, scope)
    groups: dict[str, list[tuple[Attention, Impact]]] = {}
    for one in found:
        impact = _impact(cluster_state, one, now, lost)
        groups.setdefault(_key_of(cluster_state, one), []).append((one, impact))
        yield
    acknowledged = {
        each.spec.cause: each for _, each in sorted(cluster_state.config.acknowledgments.items())
    }
    causes = [
        _with_state(_cause(key, members, others.get(key)), acknowledged.get(key), now)
        for key, members in groups.items()
    ]
    return Causes(
        position=cluster_state.position,
        at=timestamp(now),
        causes=sorted(causes, key=_urgency),
    )


def _with_state(
    cause: Cause, acknowledgment: Configured[AcknowledgmentSpec] | None, at: Instant
) -> Cause:
    if acknowledgment is None:
        return cause
    spec = acknowledgment.spec
    if not holds(spec, cause.severity, cause.count, at):
        return cause
    return replace(
        cause,
        state="Acknowledged" if spec.until is None else "Snoozed",
        acknowledgment=AcknowledgmentView(
            by=spec.by.removeprefix("user:"),
            at=timestamp(acknowledgment.created_at),
            reason=spec.reason,
            until=timestamp_or_none(spec.until),
        ),
    )


def _urgency(cause: Cause) -> tuple[int, int, int, str]:
    return (SEVERITY_ORDER[cause.severity], -cause.gpu_seconds, -cause.count, cause.key)


def _key_of(cluster_state: ClusterState, one: Attention) -> str:
    """Alerts of one kind have one cause; silent nodes one for each domain above them."""
    kind, name = kind_and_key(one.stream) if one.stream else ("", "")
    if one.kind == "NodeNotReady" and kind == "node":
        return f"{one.kind}/{_domain_above(cluster_state, name)}"
    if one.kind in TITLES:
        return one.kind
    return f"{one.kind}/{one.stream}"


def _domain_above(cluster_state: ClusterState, node: str) -> str:
    """The name of the lowest topology domain above a node; empty without a topology."""
    labels = cluster_state.config.nodes[node].labels if _is_node(cluster_state, node) else {}
    for topology in sorted(cluster_state.config.topologies):
        levels = cluster_state.config.topologies[topology].spec.levels
        path = [labels[level] for level in levels if level in labels]
        if len(path) > 1:
            return path[-2]
    return ""


def _is_node(cluster_state: ClusterState, node: str) -> bool:
    return node in cluster_state.config.nodes


def _cause(key: str, members: list[tuple[Attention, Impact]], others: Unlisted | None) -> Cause:
    ordered = sorted(members, key=lambda one: (-one[1].gpu_seconds, one[0].title))
    first, _ = ordered[0]
    unnamed = () if others is None else (Impact(others.since, others.count, others.gpu_seconds),)
    impacts = [*(impact for _, impact in members), *unnamed]
    count = sum(impact.count for impact in impacts)
    began = [impact.since for impact in impacts if impact.since is not None]
    return Cause(
        key=key,
        kind=first.kind,
        severity=min((one.severity for one, _ in members), key=SEVERITY_ORDER.__getitem__),
        title=_title(key, first, count, len(members)),
        unit=_unit(first),
        count=count,
        gpu_seconds=sum(impact.gpu_seconds for impact in impacts),
        since=timestamp(min(began)) if began else None,
        link=first.link,
        items=[one for one, _ in ordered[:MAX_ITEMS]],
        state="Open",
    )


def _title(key: str, first: Attention, count: int, alerts: int) -> str:
    if alerts == 1 or (first.kind not in TITLES and first.kind != "NodeNotReady"):
        return first.title
    return title_of(first.kind, key, count)


def title_of(kind: str, key: str, count: int) -> str:
    """The title of a cause that names none of its objects, also once it has closed."""
    if kind == "NodeNotReady":
        domain = key.partition("/")[2]
        return text_of(message("NodesNotReady", count=count, domain=domain))
    found = TITLES.get(kind)
    return text_of(found) if found else kind


def _unit(one: Attention) -> Unit:
    kind = kind_and_key(one.stream)[0] if one.stream else ""
    if kind == "workload" or one.kind == "WorkloadsFailed":
        return "Workload"
    return "Node" if kind == "node" else "Object"


def _impact(
    cluster_state: ClusterState, one: Attention, at: Instant, lost: Mapping[str, Impact]
) -> Impact:
    kind, key = kind_and_key(one.stream) if one.stream else ("", "")
    if one.kind == "WorkloadsFailed":
        return lost.get(one.link, Impact())
    if kind == "node" and _is_node(cluster_state, key):
        return _of_node(cluster_state.config.nodes[key].spec, at)
    if kind == "workload" and key in cluster_state.workloads:
        return _of_workload(cluster_state.workloads[key], at)
    return Impact()


def _of_node(spec: NodeSpec, at: Instant) -> Impact:
    since = spec.not_ready_since
    seconds = 0 if since is None else max(0, at - since) // MICROSECONDS_PER_SECOND
    return Impact(since, 1, gpus_of(spec.allocatable) * seconds)


def _of_workload(workload: Workload, at: Instant) -> Impact:
    admitted = condition(workload, "Admitted")
    holds = admitted is not None and admitted.status
    since = admitted.last_transition_at if holds and admitted else workload.created_at
    seconds = max(0, at - since) // MICROSECONDS_PER_SECOND
    return Impact(since, 1, gpus_requested(workload.spec) * seconds)


def _lost_by_failures(
    cluster_state: ClusterState, at: Instant, scope: NamespaceScope
) -> Cooperative[dict[str, Impact]]:
    """By the link of the alert of a LocalQueue: what its failed workloads had run."""
    found: dict[str, Impact] = {}
    for (namespace, queue), keys in failed_lately(cluster_state, at, scope).items():
        first, spent = at, 0
        for key in keys:
            yield
            failure = cluster_state.ended.failures.get(key)
            if failure is not None:
                spent += failure.gpu_seconds
                first = min(first, failure.finished_at)
        link = f"/workloads?phase=Failed&namespace={namespace}&queue={queue}"
        found[link] = Impact(first, len(keys), spent)
    return found


MAX_ROUNDS = 60
MAX_ROUNDS_PER_WORKLOAD = 20


class Link(msgspec.Struct, frozen=True, order=True):
    """`workload` was a victim of the earlier round and the preemptor of the later one."""

    earlier: str
    later: str
    workload: str


class Chain(msgspec.Struct, frozen=True):
    """Rounds, oldest first, and how they are linked."""

    rounds: tuple[Round, ...]
    links: tuple[Link, ...]


def chain_of(models: ReadModels, start: Round) -> Chain:
    """Everything linked with a round, before and after it, up to `MAX_ROUNDS` rounds."""
    known = {start.id: start}
    links: dict[Link, None] = {}
    ahead = deque([start])
    while ahead and len(known) < MAX_ROUNDS:
        current = ahead.popleft()
        for link, other in _neighbours(models, current):
            links[link] = None
            if other.id not in known and len(known) < MAX_ROUNDS:
                known[other.id] = other
                ahead.append(other)
    ordered = sorted(known.values(), key=lambda found: (found.committed_at, found.id))
    kept = [link for link in sorted(links) if link.earlier in known and link.later in known]
    return Chain(tuple(ordered), tuple(kept))


def _neighbours(models: ReadModels, current: Round) -> list[tuple[Link, Round]]:
    """The round that made its preemptor wait again, and those its victims began later."""
    found = []
    before = (current.committed_at, current.id)
    for other in _rounds_of(models, current.preemptor, before):
        if current.preemptor in _victims(other):
            found.append((Link(other.id, current.id, current.preemptor), other))
            break
    for victim in sorted(_victims(current)):
        later = [
            other
            for other in _rounds_of(models, victim, None)
            if other.preemptor == victim and _is_later(other, current)
        ]
        if later:
            first = min(later, key=lambda other: (other.committed_at, other.id))
            found.append((Link(current.id, first.id, victim), first))
    return found


def _rounds_of(models: ReadModels, workload: str, before: tuple[int, str] | None) -> list[Round]:
    loaded = models.rounds(after=before, limit=MAX_ROUNDS_PER_WORKLOAD, workload=workload)
    return [found.state for found in loaded]


def _victims(found: Round) -> frozenset[str]:
    return frozenset(victim.workload for victim in found.victims)


def _is_later(other: Round, current: Round) -> bool:
    return (other.committed_at, other.id) > (current.committed_at, current.id)
