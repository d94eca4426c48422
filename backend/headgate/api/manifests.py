"""Manifests in requests and responses: parsed to desired objects, rendered from states."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from headgate.adapters.manifests.codec import ExecutorConnection, Extras
from headgate.adapters.manifests.documents import Document, read_documents
from headgate.adapters.manifests.parse import (
    DEFAULT_NAMESPACE,
    Desired,
    Refused,
    as_written,
    named,
    parse,
    parse_object,
)
from headgate.adapters.manifests.queue_status import QueueStatus
from headgate.adapters.manifests.render import render, render_written
from headgate.adapters.manifests.workload import with_whole_templates
from headgate.api.answers import Answer, answer_command
from headgate.api.bodies import MAX_INLINE_BYTES
from headgate.api.callers import Caller, require_namespace, runtimes_of, services_of
from headgate.api.parameters import whole_number
from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices, whole_workloads
from headgate.application.commands.requests import (
    CommandResponse,
    CommandResult,
    DesiredObject,
    Responder,
)
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.file_stores import unknown_uploads, uploads_of
from headgate.application.ports import Loaded, WrittenObject
from headgate.application.queries.lint_warnings import AdviceView, field_warning, warnings_about
from headgate.application.queries.queue_status import (
    ConsumedResources,
    Status,
    consumed_by,
    status_of,
    weighted_share_of,
)
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec, CohortSpec
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.executor import ExecutorSpec
from headgate.domain.kinds.executor_nodes import nodes_of_executor, shared_node
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec
from headgate.domain.rejection import InvalidObject, NotAllowed, Rejection, child
from headgate.domain.scheduling.pending_reasons import derived_conditions
from headgate.domain.values.capabilities import UPLOAD, upload_of
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload


async def parsed(
    request: Caller, body: bytes, *, imports: bool = False
) -> tuple[Desired | Refused, ...]:
    """Every object of a body, as `parse` reads them."""
    reading = await _reading(request, body)
    work = partial(parse, body, imports=imports, **reading)
    return work() if _is_short(body) else await services_of(request).reading.do(work)


async def parsed_object(
    request: Caller, body: bytes, kind: str, namespace: str = DEFAULT_NAMESPACE
) -> Desired:
    """The one object of a body, as `parse_object` reads it."""
    reading = await _reading(request, body)
    work = partial(parse_object, body, kind, namespace=namespace, **reading)
    return work() if _is_short(body) else await services_of(request).reading.do(work)


async def documents_of(request: Caller, body: bytes) -> tuple[Document, ...]:
    """The documents of a body as plain values, as `read_documents` reads them."""
    work = partial(read_documents, body, str(request.headers.get("content-type", "")))
    return work() if _is_short(body) else await services_of(request).reading.do(work)


async def _reading(request: Caller, body: bytes) -> dict[str, Any]:
    content_type = str(request.headers.get("content-type", ""))
    return {"content_type": content_type, "runtimes": await runtimes_of(request, body)}


def _is_short(body: bytes) -> bool:
    return len(body) <= MAX_INLINE_BYTES


PRIORITY = "priority"
ENDING_LENGTH = 5


async def read_wanted(request: Caller, body: bytes, kind: str) -> tuple[DesiredObject, Desired]:
    """The one object a body asks for, in the namespace and with the name of the path."""
    namespace = str(request.path_params.get("namespace", ""))
    desired = await parsed_object(request, body, kind, namespace or DEFAULT_NAMESPACE)
    name = str(request.path_params.get("name", ""))
    _must_agree("/metadata/name", desired.name, name)
    _must_agree("/metadata/namespace", desired.namespace, namespace)
    wanted = wanted_of(services_of(request), desired)
    failure = await _upload_failure(request, wanted)
    if failure is not None:
        raise failure
    return wanted, desired


async def _upload_failure(request: Caller, wanted: DesiredObject) -> InvalidObject | None:
    """Why a workload is refused that names an unknown upload; a present workload keeps its own."""
    if not isinstance(wanted.spec, WorkloadSpec) or not uploads_of(wanted.spec):
        return None
    services = services_of(request)
    key = f"{wanted.namespace}/{wanted.name}"
    present = (await whole_workloads(services, [key])).get(key)
    known = uploads_of(present.spec) if present is not None else frozenset()
    asked = [(wanted.namespace, wanted.spec)]
    unknown = await asyncio.to_thread(unknown_uploads, services.uploads, asked)
    missing = next((key for key in sorted(unknown) if key.digest not in known), None)
    if missing is None:
        return None
    numbers = {upload_of(each.template): n for n, each in enumerate(wanted.spec.pod_sets)}
    place = f"/spec/podSets/{numbers[missing.digest]}/template/metadata/annotations"
    return InvalidObject.at(
        child(place, UPLOAD), "UploadUnknown", namespace=missing.namespace, digest=missing.digest
    )


def wanted_of(services: ApplicationServices, desired: Desired) -> DesiredObject:
    """The same as use cases take it; a generated name gets its ending here."""
    ending = "" if desired.name else services.ids.new()[-ENDING_LENGTH:]
    complete = named(desired, ending)
    is_workload = complete.kind == "Workload"
    return DesiredObject(
        kind=complete.stream_kind,
        name=complete.name,
        namespace=complete.namespace,
        labels=complete.labels,
        annotations=complete.annotations,
        spec=complete.spec,
        digest=complete.digest,
        keeps=() if is_workload else complete.keeps,
        has_explicit_priority=is_workload and PRIORITY not in complete.keeps,
        position=whole_number(complete.resource_version) or None,
        written=_written(complete.written),
        templates=tuple(
            WrittenObject(digest=sha256(body).hexdigest(), body=body) for body in complete.templates
        ),
        imported=complete.imported,
    )


def _written(body: bytes) -> WrittenObject | None:
    return WrittenObject(digest=sha256(body).hexdigest(), body=body) if body else None


def object_writer(kind: str, status: int = 200) -> Responder:
    """Answers with the only object changed; with what it was last if it is gone."""

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        yield
        return CommandResponse(status=status, content=_manifest_after(kind, results[0]))

    return write


def _manifest_after(kind: str, changed: CommandResult) -> dict[str, Any]:
    """The object after a change, at the position the change will have."""
    state = changed.before if isinstance(changed.after, Absent) else changed.after
    body = changed.written.body if changed.written is not None else None
    rendered = (
        render(kind, state, changed.position)
        if body is None
        else render_written(kind, state, changed.position, body)
    )
    if changed.events:
        rendered["metadata"]["resourceVersion"] = None
    return rendered


def manifest_of(
    services: ApplicationServices,
    kind: str,
    state: Any,  # noqa: ANN401 - any aggregate's state
    position: int,
    scope: NamespaceScope = frozenset(),
) -> dict[str, Any]:
    """The object as it stands, with the status that is derived from all others.

    `scope` is what the reader may see of others.
    """
    return render(kind, state, position, _extras(services, state, scope))


async def with_templates(
    services: ApplicationServices,
    manifests: Sequence[dict[str, Any]],
    given: Iterable[WrittenObject] = (),
) -> list[dict[str, Any]]:
    """Rendered workloads with their pod templates as submitted, by at most one read of the store.

    `given` are templates of the request itself, which are not read again.
    """
    bodies = {each.digest: each.body for each in given}
    missing = {
        each["digest"]
        for manifest in manifests
        for each in manifest["status"].get("podTemplates", ())
        if each["digest"] not in bodies
    }
    if missing:
        bodies |= await asyncio.to_thread(services.models.written, missing)
    whole = (with_whole_templates(manifest, bodies) for manifest in manifests)
    return await run_yielding(each(whole))


async def answer_workload(
    request: Caller,
    handled: CommandResponse,
    *,
    given: Iterable[WrittenObject] = (),
    location: str | None = None,
) -> Answer:
    """The answer of a command on a workload, with its pod templates as submitted.

    Kept answers of idempotency keys are without them, so that an erasure need not look there.
    """
    (whole,) = await with_templates(services_of(request), [handled.content], given)
    return answer_command(msgspec.structs.replace(handled, content=whole), location=location)


async def manifests_as_written(
    services: ApplicationServices, kind: str, found: Sequence[Loaded]
) -> list[dict[str, Any]]:
    """Configured objects as their authors wrote them, with the status derived from all others."""
    digests = {loaded.state.written for loaded in found} - {""}
    bodies = await asyncio.to_thread(services.models.written, digests) if digests else {}
    return [
        render_written(
            kind,
            loaded.state,
            loaded.position,
            bodies.get(loaded.state.written),
            _extras(services, loaded.state, frozenset()),
        )
        for loaded in found
    ]


def with_written_pointers(failure: Exception, desired: Desired) -> Exception:
    """A rejection whose pointers lead to where the caller wrote what is wrong."""
    return as_written(failure, desired) if isinstance(failure, Rejection) else failure


def _extras(
    services: ApplicationServices,
    state: Any,  # noqa: ANN401 - by kind
    scope: NamespaceScope,
) -> Extras | None:
    cluster_state = services.reader.cluster_state
    if isinstance(state, Workload):
        return Extras(
            resources=cluster_state.config.configuration.resources,
            conditions=derived_conditions(cluster_state.config, state),
            is_visible=visible_to(scope),
        )
    if not isinstance(state, Configured):
        return None
    match state.spec:
        case ClusterQueueSpec():
            return Extras(queue_status=_queue_status(status_of(cluster_state, state.name)))
        case LocalQueueSpec(cluster_queue=name):
            key = f"{state.namespace}/{state.name}"
            queue = cluster_state.config.cluster_queues.get(name)
            status = _queue_status(status_of(cluster_state, name, key))
            consumed = consumed_by(cluster_state, key, services.clock.now())
            return Extras(
                queue_status=_with_consumed(status, consumed) if consumed else status,
                cluster_queue=queue.spec if queue else None,
            )
        case CohortSpec():
            return Extras(weighted_share=weighted_share_of(cluster_state, f"cohort/{state.name}"))
        case ExecutorSpec():
            return Extras(executor_connection=_connection(services, state))
        case DisruptionBudgetSpec():
            budgets = cluster_state.partition_index.budgets
            return Extras(budget_standing=budgets.status_of(f"{state.namespace}/{state.name}"))
        case _:
            return None


def _connection(
    services: ApplicationServices, executor: Configured[ExecutorSpec]
) -> ExecutorConnection:
    config = services.reader.cluster_state.config
    lease, shared = services.known_leases.get(executor.name), shared_node(config, executor)
    return ExecutorConnection(
        nodes=sum(1 for _ in nodes_of_executor(config, executor.name)),
        last_seen_at=lease.renewed_at if lease else None,
        running_pods=lease.running_pods if lease else 0,
        shared_node=shared.node if shared else "",
        older=shared.older if shared else "",
    )


def _queue_status(status: Status) -> QueueStatus:
    return QueueStatus(
        activity=status.activity,
        active_since=status.active_since,
        pending=status.pending,
        reserving=status.reserving,
        admitted=status.admitted,
        reservation=status.reservation,
        usage=status.usage,
        weighted_share=status.weighted_share,
    )


def _with_consumed(status: QueueStatus, consumed: ConsumedResources) -> QueueStatus:
    return msgspec.structs.replace(status, consumed_nanos=consumed.nanos, consumed_at=consumed.at)


def _must_agree(pointer: str, said: str, in_path: str) -> None:
    if in_path and said != in_path:
        raise InvalidObject.at(pointer, "AddressDiffers", value=in_path)


class Entry(msgspec.Struct, frozen=True):
    """One item of a batch: what is wanted, or why it cannot even be tried."""

    kind: str
    namespace: str
    name: str
    wanted: DesiredObject | None = None
    desired: Desired | None = None
    failure: Exception | None = None


def warnings_of(
    request: Caller, entries: Sequence[Entry], results: Sequence[CommandResult]
) -> Cooperative[list[AdviceView]]:
    """What to tell of workloads that cannot start, and of fields that have no effect."""
    tried = [entry for entry in entries if entry.wanted is not None]
    written = [
        (changed, entry.desired.places if entry.desired else ())
        for entry, changed in zip(tried, results, strict=True)
    ]
    cluster_state = services_of(request).reader.cluster_state
    found = yield from warnings_about(cluster_state, written, request.user.namespaces)
    without_effect = (
        field_warning(entry.kind, entry.namespace, changed.after.name, warning)
        for entry, changed in zip(tried, results, strict=True)
        if entry.desired is not None and changed.failure is None
        for warning in entry.desired.warnings
    )
    return [*found, *without_effect]


def batch_status(outcomes: Sequence[dict[str, Any]]) -> int:
    """200 if all went well, 422 if nothing did, 207 for what lies between."""
    refused = sum(outcome["outcome"] == "rejected" for outcome in outcomes)
    if not refused:
        return 200
    return 422 if refused == len(outcomes) else 207


def failure_of(entry: Entry, changed: CommandResult | None) -> Exception | None:
    """Why an entry was rejected, if it was, as its writer can read it."""
    failure = changed.failure if changed is not None else entry.failure
    if failure is None or entry.desired is None:
        return failure
    return with_written_pointers(failure, entry.desired)


def entry_of(request: Caller, found: Desired | Refused) -> Entry:
    """A parsed document as an entry; raises nothing."""
    if isinstance(found, Refused):
        return Entry(found.kind, found.namespace, found.name, failure=found.problem)
    try:
        if found.namespace:
            require_namespace(request.user, found.namespace)
    except NotAllowed as failure:
        return Entry(found.kind, found.namespace, found.name, failure=failure)
    wanted = wanted_of(services_of(request), found)
    return Entry(found.kind, found.namespace, wanted.name, wanted, found)


async def with_known_uploads(request: Caller, entries: Sequence[Entry]) -> list[Entry]:
    """The entries, those failed that name an upload which their namespace does not have."""
    return [await _with_known_uploads(request, entry) for entry in entries]


async def _with_known_uploads(request: Caller, entry: Entry) -> Entry:
    failure = None if entry.wanted is None else await _upload_failure(request, entry.wanted)
    if failure is None:
        return entry
    return Entry(entry.kind, entry.namespace, entry.name, failure=failure)
