"""Warnings on a submit that is accepted but cannot be admitted because of its queues.

As in Kueue such work is accepted and waits: its queue may be made or resumed later.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from headgate.application.access.redaction import NamespaceScope, message_json
from headgate.application.commands.decide import config_after, queue_failure
from headgate.application.commands.requests import CommandResult
from headgate.application.cooperative import Cooperative
from headgate.application.queries.did_you_mean import did_you_mean
from headgate.application.queries.overview.config_warnings import AdviceView
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rejection import moved
from headgate.domain.scheduling.queueing.queue_checks import QueueCheckFailure
from headgate.domain.streams import stream_of
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.pods.templates import (
    TemplateFields,
    ignored_placement_fields,
    literal_secrets,
)
from headgate.domain.workloads.state import Workload
from headgate.messages.catalogue import remedy_of, text_of

FieldPointers: TypeAlias = tuple[tuple[str, str], ...]
"""Where parts of our shape stand in a manifest as it was written."""

QUEUE_NAME = "/spec/queueName"
POD_SETS = "/spec/podSets"
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
    """All that goes to one queue and is kept out, by the first of them."""

    workload: Workload
    failure: QueueCheckFailure
    places: FieldPointers
    count: int = 0


def warnings_about(
    cluster_state: ClusterState,
    written: Iterable[tuple[CommandResult, FieldPointers]],
    scope: NamespaceScope,
) -> Cooperative[list[AdviceView]]:
    """One warning for all that goes to the same queue and cannot, named after the first of them."""
    pairs = tuple(written)
    config = config_after(cluster_state.config, [changed for changed, _ in pairs])
    known: dict[tuple[str, str, str], _KeptOut] = {}
    for changed, places in pairs:
        found = queue_failure(config, changed)
        if found is not None:
            after = changed.after
            key = (after.namespace, after.spec.queue_name, found.reason)
            known.setdefault(key, _KeptOut(after, found, places)).count += 1
        yield
    kept_out = [_warning(cluster_state, one, scope) for one in known.values()]
    return [*kept_out, *_template_warnings(pairs), *_ignored_fields(pairs)]


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
    workload, found = one.workload, one.failure
    pointer = POD_SETS if found.reason == "OutsideLimitRange" else QUEUE_NAME
    remedy = remedy_of(found.message)
    pending = message("PendingUntilChanged", found=found.message, count=one.count)
    return AdviceView(
        kind="Workload",
        namespace=workload.namespace,
        name=workload.name,
        pointer=moved(pointer, one.places),
        rule=found.reason,
        severity="warning",
        code=pending.code,
        arguments=message_json(pending)["arguments"],
        message=f"{text_of(pending)}.",
        remedy=f"{remedy} {_near(cluster_state, workload, found, scope)}".rstrip(),
    )


def _near(
    cluster_state: ClusterState, workload: Workload, found: QueueCheckFailure, scope: NamespaceScope
) -> str:
    """A LocalQueue that may have been meant, where there is none of that name."""
    if found.reason != "LocalQueueDoesNotExist":
        return ""
    return did_you_mean(
        cluster_state, stream_of("localqueue", workload.spec.queue_name, workload.namespace), scope
    )
