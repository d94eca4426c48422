"""Warnings: on a configuration that is allowed and odd, and on submits that cannot be admitted.

As in Kueue a workload that cannot be admitted is accepted and waits: its queue may be made or
resumed later, and hosts or quota may be added.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from headgate.application.access.redaction import NamespaceScope, message_json
from headgate.application.commands.decide import (
    SubmissionClass,
    config_after,
    queue_failure,
    submission_class,
)
from headgate.application.commands.requests import CommandResult
from headgate.application.cooperative import Cooperative
from headgate.application.queries.views import (
    Free,
    Position,
    Whole,
    did_you_mean,
    message_view,
    view_from,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.lint import LintWarning, lint
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import stream_of
from headgate.domain.rejection import Violation, moved
from headgate.domain.scheduling.evaluation.unschedulable import unschedulable_reason
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_layout import PartitionLayout, partition_layout
from headgate.domain.scheduling.queueing.queue_checks import orphaned_workloads
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.pods.templates import (
    TemplateFields,
    ignored_placement_fields,
    literal_secrets,
)
from headgate.domain.workloads.state import Workload
from headgate.messages.catalogue import remedies_of, remedy_of, text_of

_KNOWN: WeakKeyDictionary[ClusterState, tuple[int, tuple[LintWarning, ...]]] = WeakKeyDictionary()
"""By cell the advice, and the position of the configuration that it is about."""


class AdviceView(Whole, kw_only=True, frozen=True):
    """One thing to look at: what is so, with its numbers, and what may have been meant."""

    kind: str
    namespace: str
    name: str
    pointer: str
    rule: str
    severity: str
    message: str
    remedy: str
    code: str = ""
    arguments: Free = {}


class AdvicePage(Whole, kw_only=True, frozen=True):
    """Everything worth a look, warnings first."""

    position: Position
    items: list[AdviceView]


def advice(cluster_state: ClusterState, scope: NamespaceScope) -> AdvicePage:
    """About the whole configuration, as far as one may see it."""
    return AdvicePage(position=cluster_state.position, items=_shown(_known(cluster_state), scope))


def warnings_in(cluster_state: ClusterState, scope: NamespaceScope) -> list[LintWarning]:
    """The warnings about the whole configuration, as far as a user may read it."""
    return [found for found in _known(cluster_state) if _is_visible(found, scope)]


def _is_visible(found: LintWarning, scope: NamespaceScope) -> bool:
    return scope is None or not found.namespace or found.namespace in scope


def _known(cluster_state: ClusterState) -> tuple[LintWarning, ...]:
    """The advice, worked out once for each change of the configuration: it is asked for often.

    That about assumed events is not kept: an event of the log may have their position later.
    """
    if cluster_state.open_overlay is not None:
        return lint(cluster_state.config)
    known = _KNOWN.get(cluster_state)
    if known is None or known[0] != cluster_state.config_position:
        known = _KNOWN[cluster_state] = (cluster_state.config_position, lint(cluster_state.config))
    return known[1]


def advice_about(config: ObjectSet, changes: Sequence[CommandResult]) -> list[AdviceView]:
    """About the configured objects among these changes, as things stand once they are made."""
    after = config_after(config, changes)
    if after is config:
        return []
    made = {changed.stream for changed in changes if changed.failure is None}
    return _shown((found for found in lint(after) if _stream_of(found) in made), None)


def field_warning(kind: str, namespace: str, name: str, found: Violation) -> AdviceView:
    """About a field of an object that is accepted without effect."""
    return AdviceView(
        kind=kind,
        namespace=namespace,
        name=name,
        pointer=found.pointer,
        rule=found.message.code,
        severity="warning",
        message=f"{text_of(found.message)}.",
        remedy=remedy_of(found.message),
        code=found.message.code,
        arguments=message_view(found.message).arguments,
    )


def _stream_of(found: LintWarning) -> str:
    name = f"{found.namespace}/{found.name}" if found.namespace else found.name
    return f"{found.kind.lower()}/{name}"


def _shown(found: Iterable[LintWarning], scope: NamespaceScope) -> list[AdviceView]:
    return [
        view_from(
            AdviceView,
            one,
            message=text_of(one.message),
            remedy=remedy_of(one.message),
            code=one.message.code,
            arguments=message_view(one.message).arguments,
        )
        for one in found
        if _is_visible(one, scope)
    ]


FieldPointers: TypeAlias = tuple[tuple[str, str], ...]
"""Where parts of our shape stand in a manifest as it was written."""

QUEUE_NAME = "/spec/queueName"
POD_SETS = "/spec/podSets"
REASONS_OF_POD_SETS = ("OutsideLimitRange", UNSCHEDULABLE)
MAX_TEMPLATES_WARNED = 20
MAX_FIELDS_WARNED = 20
IGNORED_JOB_FIELDS = frozenset(
    {
        "BackoffLimitOfJobSet",
        "BackoffLimitsDiffer",
        "CompletionsOfElasticJob",
        "CompletionsOfReplicas",
        "FailureRuleOfCondition",
        "FailureRuleOfContainer",
        "FailureRuleOfJobSet",
        "FieldWithoutEqual",
        "JobWithoutCompletions",
        "LimitsPerIndexDiffer",
        "PreemptionPoliciesOfPodsDiffer",
    }
)
"""Codes of what is told of a Job's fields without an equal meaning here."""


class _KeptOut(msgspec.Struct):
    """All that goes to one queue and is kept out for one reason, by the first of them."""

    workload: Workload
    reason: str
    message: Message
    remedy: str
    places: FieldPointers
    text: str = ""
    count: int = 0


def warnings_about(
    cluster_state: ClusterState,
    written: Iterable[tuple[CommandResult, FieldPointers]],
    scope: NamespaceScope,
) -> Cooperative[list[AdviceView]]:
    """One warning for all that goes to the same queue and cannot, named after the first of them."""
    pairs = tuple(written)
    config = config_after(cluster_state.config, [changed for changed, _ in pairs])
    layout = cluster_state.layout if config is cluster_state.config else partition_layout(config)
    partitions: dict[str, Partition] = {}
    known: dict[tuple[str, str, str, str], _KeptOut] = {}
    judged: dict[SubmissionClass | None, _KeptOut | None] = {}
    orphaned = orphaned_workloads(config)
    for changed, places in pairs:
        alike = submission_class(changed, orphaned)
        if alike is None or alike not in judged:
            one = _kept_out(cluster_state, layout, partitions, (changed, places))
            if one is not None:
                namespace, queue = one.workload.namespace, one.workload.spec.queue_name
                one = known.setdefault((namespace, queue, one.reason, one.text), one)
            judged[alike] = one
        found = judged[alike]
        if found is not None:
            found.count += 1
        yield
    kept_out = [_warning(cluster_state, one, scope) for one in known.values()]
    return [*kept_out, *_template_warnings(pairs), *_ignored_fields(pairs)]


def _partition(
    cluster_state: ClusterState,
    layout: PartitionLayout,
    partitions: dict[str, Partition],
    workload: Workload,
) -> Partition:
    """The partition that tells whether a workload could ever start, which others do not change.

    Under a configuration that the batch changes it is a new one.
    """
    name = layout.key_of(workload)
    if layout is cluster_state.layout:
        return cluster_state.configured_partition(name)
    if name not in partitions:
        queues = [queue for queue, key in layout.of_cluster_queue.items() if key == name]
        partitions[name] = Partition(name, layout.config, queues, {})
    return partitions[name]


def _kept_out(
    cluster_state: ClusterState,
    layout: PartitionLayout,
    partitions: dict[str, Partition],
    written: tuple[CommandResult, FieldPointers],
) -> _KeptOut | None:
    """Why a workload cannot start: that it never can, before what its queues say."""
    changed, places = written
    workload = changed.after
    if changed.failure is not None or not isinstance(workload, Workload):
        return None
    partition = _partition(cluster_state, layout, partitions, workload)
    never = unschedulable_reason(partition, layout.config, workload)
    if never is not None and layout is cluster_state.layout:
        # What is free now counts the workloads.
        full = cluster_state.partition(layout.key_of(workload))
        never = unschedulable_reason(full, layout.config, workload)
    if never is not None:
        found = never.reason_message
        remedy = next((f"{remedy}." for remedy in remedies_of(never)), "")
        return _KeptOut(workload, never.dominant, found, remedy, places, text_of(found))
    failure = queue_failure(layout.config, changed)
    if failure is None:
        return None
    remedy = remedy_of(failure.message)
    return _KeptOut(workload, failure.reason, failure.message, remedy, places)


def _ignored_fields(pairs: Iterable[tuple[CommandResult, FieldPointers]]) -> Iterator[AdviceView]:
    """One warning for each field of a Job that has no equal here, of the first workload."""
    seen: set[str] = set()
    for changed, places in pairs:
        ignored = changed.after.spec.ignored if isinstance(changed.after, Workload) else ()
        for found in ignored:
            is_new = found.code in IGNORED_JOB_FIELDS and text_of(found) not in seen
            if not is_new or len(seen) >= MAX_FIELDS_WARNED:
                continue
            seen.add(text_of(found))
            yield AdviceView(
                kind="Workload",
                namespace=changed.after.namespace,
                name=changed.after.name,
                pointer=moved("/spec", places),
                rule=found.code,
                severity="warning",
                code=found.code,
                arguments=message_json(found)["arguments"],
                message=text_of(found),
                remedy="",
            )


def _template_warnings(
    pairs: Iterable[tuple[CommandResult, FieldPointers]],
) -> Iterator[AdviceView]:
    """One warning for each literal secret and each ignored field, of each template the first."""
    seen: set[str] = set()
    for changed, places in pairs:
        bodies = {kept.digest: kept.body for kept in changed.templates}
        pod_sets = changed.after.spec.pod_sets if isinstance(changed.after, Workload) else ()
        for number, pod_set in enumerate(pod_sets):
            body = bodies.get(pod_set.written)
            if body is None or pod_set.written in seen or len(seen) >= MAX_TEMPLATES_WARNED:
                continue
            seen.add(pod_set.written)
            for pointer, found in found_in_template(msgspec.json.decode(body)):
                yield AdviceView(
                    kind="Workload",
                    namespace=changed.after.namespace,
                    name=changed.after.name,
                    pointer=moved(f"{POD_SETS}/{number}/template{pointer}", places),
                    rule=found.code,
                    severity="warning",
                    code=found.code,
                    arguments=message_json(found)["arguments"],
                    message=f"{text_of(found).removesuffix('.')}.",
                    remedy=remedy_of(found),
                )


def found_in_template(template: TemplateFields) -> Iterator[tuple[str, Message]]:
    """What is to be told of a whole pod template, each with its JSON pointer in the template."""
    for pointer, name in literal_secrets(template):
        yield pointer, message("LiteralSecret", name=name)
    for pointer in ignored_placement_fields(template):
        yield pointer, message("PlacementFieldIgnored", field=pointer.removeprefix("/spec/"))


def _warning(cluster_state: ClusterState, one: _KeptOut, scope: NamespaceScope) -> AdviceView:
    workload = one.workload
    pointer = POD_SETS if one.reason in REASONS_OF_POD_SETS else QUEUE_NAME
    pending = message("PendingUntilChanged", found=one.message, count=one.count)
    return AdviceView(
        kind="Workload",
        namespace=workload.namespace,
        name=workload.name,
        pointer=moved(pointer, one.places),
        rule=one.reason,
        severity="warning",
        code=pending.code,
        arguments=message_json(pending)["arguments"],
        message=f"{text_of(pending)}.",
        remedy=f"{one.remedy} {_near(cluster_state, workload, one.reason, scope)}".rstrip(),
    )


def _near(
    cluster_state: ClusterState, workload: Workload, reason: str, scope: NamespaceScope
) -> str:
    """A LocalQueue that may have been meant, where there is none of that name."""
    if reason != "LocalQueueDoesNotExist":
        return ""
    return did_you_mean(
        cluster_state, stream_of("localqueue", workload.spec.queue_name, workload.namespace), scope
    )
