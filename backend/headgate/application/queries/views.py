"""What the views have in common: camelCase names, integers in base units, RFC 3339 instants.

Messages, blockers and protection rules are shown as text, code and arguments. A name that nothing
has is answered with one that may have been meant.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from headgate.application.access.redaction import (
    NamespaceScope,
    allows,
    message_json,
    shown_key,
    shown_keys,
    visible_to,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import kind_and_key, stream_of
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import (
    Blocker,
    Explanation,
    HostExclusion,
    ProtectedCandidate,
)
from headgate.messages.catalogue import (
    REMEDY_OF,
    remedies_of,
    remedy_messages,
    sentence_of,
    text_of,
)
from headgate.messages.rendering import IsVisible, everything_visible, nearest

Timestamp = Annotated[
    str,
    msgspec.Meta(description="RFC 3339, UTC", examples=["2026-09-24T12:03:11Z"], max_length=64),
]
Position = Annotated[int, msgspec.Meta(ge=0, description="A place in the log", examples=[182233])]
Free = dict[str, Any]
"""A JSON object with fields of another definition."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Schema(msgspec.Struct, rename="camel", kw_only=True, frozen=True, omit_defaults=True):
    """A view that leaves out what is empty."""


class Whole(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A view with all fields always present."""


class MessageView(Whole, kw_only=True, frozen=True):
    """The code and arguments of a message, of which the text stands beside it."""

    code: str
    arguments: Free


def message_view(found: Message, is_visible: IsVisible = everything_visible) -> MessageView:
    """Returns a message redacted for a reader."""
    shown = message_json(found, is_visible)
    return MessageView(code=shown["code"], arguments=shown["arguments"])


def timestamp(at: Instant) -> str:
    """The instant as RFC 3339 in UTC, with a fraction only where there is one."""
    written = (EPOCH + timedelta(microseconds=at)).isoformat()
    return written.replace("+00:00", "Z")


def timestamp_or_none(at: Instant | None) -> str | None:
    """The same for an instant that may be missing."""
    return None if at is None else timestamp(at)


View = TypeVar("View", bound=msgspec.Struct)


def view_from(schema: type[View], source: object, **others: object) -> View:
    """Returns a view with the attributes of `source` of the same names, or those in `others`.

    Instants become timestamps, and tuples lists.
    """
    values = {
        name: _shown(getattr(source, name), is_timestamp=is_timestamp)
        for name, is_timestamp in _fields_of(schema)
        if name not in others
    }
    return schema(**values, **others)


def _shown(value: Any, *, is_timestamp: bool) -> Any:  # noqa: ANN401 - of any field
    if is_timestamp:
        return timestamp_or_none(value)
    return list(value) if isinstance(value, tuple) else value


@cache
def _fields_of(schema: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """The names of the fields of a view, and whether each is a timestamp."""
    timestamps = (Timestamp, Timestamp | None)
    return tuple((each.name, each.type in timestamps) for each in msgspec.structs.fields(schema))


EXCLUSION_WORDS = {
    "Affinity": "affinity",
    "NodeSelector": "nodeSelector",
    "PodAffinity": 'podAffinity "{}"',
    "PodAntiAffinity": 'podAntiAffinity "{}"',
    "TopologySpread": 'topologySpreadConstraints "{}"',
    "Resource": 'resource "{}"',
    "Taint": 'taint "{}"',
    "TopologyDomain": "topologyDomain",
    "Unusable": "not ready or cordoned",
    "Recorded": "{}",
}
"""Kueue's words for what excludes hosts (topology.md §5)."""


class RefusedView(Schema, kw_only=True, frozen=True):
    """A candidate that is not preempted, and the rule that protects it."""

    workload: str
    rule: str
    code: str
    arguments: Free = {}


class BlockerView(Schema, kw_only=True, frozen=True):
    """One thing that keeps a workload from admission; amounts are integers in base units.

    Of an unschedulable workload `have` is what the emptied cluster has, and `free` what is free.

    `message` is the text of `code` with its `arguments` and the fields beside them.
    """

    type: str
    reason: str
    message: str
    code: str
    arguments: Free = {}
    pod_set: str = ""
    flavor: str = ""
    resource: str = ""
    level: str = ""
    domain: str = ""
    need: int | None = None
    have: int | None = None
    short_by: int | None = None
    free: int | None = None
    held_by: list[str] = []
    refused: list[RefusedView] = []
    excluded_hosts: dict[str, int] = {}


def message_text(found: Message, scope: NamespaceScope) -> str:
    """Returns the text of a message for a reader of these namespaces."""
    return text_of(found, visible_to(scope))


def sentence(found: Explanation, scope: NamespaceScope) -> str:
    """Returns the text of the dominant reason for a reader of these namespaces."""
    return sentence_of(found, visible_to(scope))


def remedies(found: Explanation, scope: NamespaceScope) -> list[str]:
    """Returns what would admit the workload, for a reader of these namespaces."""
    return remedies_of(found, visible_to(scope))


class RemedyView(Schema, kw_only=True, frozen=True):
    """One way to unblock a workload.

    `code` and `arguments` are those of the remedy, or of the constraint that it ends.
    """

    code: str
    arguments: Free
    text: str


def remedy_views(found: Explanation, scope: NamespaceScope) -> list[RemedyView]:
    """Returns what would admit the workload with its codes, in the order of `remedies`."""
    views: dict[str, RemedyView] = {}
    for each in remedy_messages(found):
        ended = each.arguments.get("found") if each.code == REMEDY_OF else None
        told = ended if isinstance(ended, Message) else each
        text = message_text(each, scope)
        view = RemedyView(code=told.code, arguments=arguments_view(told, scope), text=text)
        views.setdefault(text, view)
    return list(views.values())


def arguments_view(found: Message, scope: NamespaceScope) -> dict[str, Any]:
    """Returns the arguments of a message as JSON; objects that are not visible are not named."""
    arguments: dict[str, Any] = message_json(found, visible_to(scope))["arguments"]
    return arguments


def blocker_view(blocker: Blocker, scope: NamespaceScope) -> BlockerView:
    """Returns a blocker as a reader of these namespaces may see it."""
    return BlockerView(
        type=blocker.type,
        reason=blocker.reason,
        message=message_text(blocker.full_message, scope),
        code=blocker.message.code,
        arguments=arguments_view(blocker.message, scope),
        pod_set=blocker.pod_set,
        flavor=blocker.flavor,
        resource=blocker.resource,
        level=blocker.level,
        domain=blocker.domain,
        need=blocker.need,
        have=blocker.have,
        short_by=blocker.short_by,
        free=blocker.free,
        held_by=shown_keys(blocker.held_by, scope),
        refused=[refused_view(refused, scope) for refused in blocker.refused],
        excluded_hosts={_exclusion_word(each): each.hosts for each in blocker.excluded_hosts},
    )


def refused_view(refused: ProtectedCandidate, scope: NamespaceScope) -> RefusedView:
    """Returns a protected candidate as a reader of these namespaces may see it."""
    return RefusedView(
        workload=shown_key(refused.workload, scope),
        rule=message_text(refused.rule, scope),
        code=refused.rule.code,
        arguments=arguments_view(refused.rule, scope),
    )


def _exclusion_word(found: HostExclusion) -> str:
    return EXCLUSION_WORDS[found.cause].format(found.detail)


MAX_COMPARED = 2_000
"""Names are compared one by one; with more of them in a namespace only the same name is sought."""


def did_you_mean(cluster_state: ClusterState, stream: str, scope: NamespaceScope) -> str:
    """The same name in another namespace, or one like it; empty where there is neither.

    Of workloads those are sought that the cluster state has, so hardly any that have ended.
    """
    kind, key = kind_and_key(stream)
    namespace, slash, name = key.rpartition("/")
    objects: Mapping[str, object] = cluster_state.workloads
    if kind != "workload":
        objects = cluster_state.config.of_kind(kind)
    if slash:
        elsewhere = [
            other
            for other in _namespaces(cluster_state)
            if f"{other}/{name}" in objects and allows(scope, stream_of(kind, name, other))
        ]
        if elsewhere:
            return f"There is one of that name in namespace {elsewhere[0]}."
    if not allows(scope, stream):
        return ""
    prefix = namespace + slash
    here = [key.removeprefix(prefix) for key in objects if key.startswith(prefix)]
    near = nearest(name, here) if len(here) <= MAX_COMPARED else None
    return f"Did you mean {near}?" if near else ""


def _namespaces(cluster_state: ClusterState) -> list[str]:
    """Those that have a LocalQueue or are declared."""
    namespaces = (queue.namespace for queue in cluster_state.config.local_queues.values())
    return sorted({*namespaces, *cluster_state.config.namespaces})


class TaintView(Whole, kw_only=True, frozen=True):
    """A mark that keeps pods away."""

    key: str
    value: str
    effect: str


class HostWorkload(Whole, kw_only=True, frozen=True):
    """Pods of one workload on one host; other teams' keys are withheld from submitters."""

    key: str
    pods: int
    cluster_queue: str
    priority: int


class LevelFitView(Whole, kw_only=True, frozen=True):
    """The most pods that one domain of a level takes, where that is, and all domains together.

    `fragmentation` is how much of that lies outside the largest domain, in thousandths.
    """

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: list[str]
    together: int
    fragmentation: int


class TopologyFits(Whole, kw_only=True, frozen=True):
    """The largest gang of pods with these requests, for every flavor and level."""

    position: Position
    at: Timestamp
    topology: str
    requests: dict[str, int]
    fits: list[LevelFitView]


class FragmentationPoint(Whole, kw_only=True, frozen=True):
    """What fitted at one instant; nothing where the topology had no hosts yet."""

    position: Position
    at: Timestamp
    fits: list[LevelFitView]


class FragmentationHistory(Whole, kw_only=True, frozen=True):
    """The largest gangs and the fragmentation at instants of equal distance, oldest first.

    Before `dataSince` there was no log. `complete` is false where there was no time to look at all
    of them: the latest are missing.
    """

    position: Position
    at: Timestamp
    data_since: Timestamp | None
    topology: str
    requests: dict[str, int]
    complete: bool
    points: list[FragmentationPoint]


class NearFitView(Whole, kw_only=True, frozen=True):
    """How many pods or slices a domain takes, and the holders of most of what it is short of."""

    pod_set: str
    flavor: str
    level: str
    domain: list[str]
    unit: str
    fits: int
    needs: int
    resource: str
    in_the_way: list[HostWorkload]


class NearFitsView(Whole, kw_only=True, frozen=True):
    """The domains that come nearest to taking a workload, nearest first for each pod set."""

    position: Position
    at: Timestamp
    topology: str
    workload: str
    near: list[NearFitView]


class WorkloadsOnHost(Whole, kw_only=True, frozen=True):
    """The workloads with pods on a host."""

    host: str
    workloads: list[HostWorkload]


class DomainWorkloads(Whole, kw_only=True, frozen=True):
    """The workloads on each host of a domain, in order of hosts."""

    position: Position
    at: Timestamp
    topology: str
    hosts: list[WorkloadsOnHost]
