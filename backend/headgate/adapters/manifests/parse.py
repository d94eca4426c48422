"""From the text of manifests to desired objects: each document alone, with all its problems."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.adapters.manifests.codec import KnownSpecs, Places
from headgate.adapters.manifests.documents import Document, read_documents
from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.imported_status import read_imported_status
from headgate.adapters.manifests.job_kinds import JOB_KINDS_BY_NAME, read_job_kind
from headgate.adapters.manifests.job_templates import (
    NO_RUNTIMES,
    RUNTIME_KINDS,
    Runtimes,
    train_job_roles,
)
from headgate.adapters.manifests.jobs import ReadJob, read_job, read_job_set
from headgate.adapters.manifests.metadata import ManifestKind, Metadata, read_metadata
from headgate.adapters.manifests.pods import PodGroup, grouped, read_pod_group, read_pods
from headgate.adapters.manifests.registry import CODECS_BY_NAME, read_kind
from headgate.adapters.manifests.workload import read_workload
from headgate.application.cooperative import drop_in_thread, stop_if_cancelled
from headgate.domain.field_rules import (
    broken_rule_of_name,
    identity_violations,
    invalid_object,
    marking_violations,
)
from headgate.domain.kinds.registry import KIND_LABEL, KINDS_BY_NAME, SUBMITTED_AS
from headgate.domain.rejection import (
    InvalidObject,
    Rejection,
    Violation,
    lies_within,
    moved,
    violation,
)
from headgate.domain.workloads.commands import ImportedStatus
from headgate.domain.workloads.decide.spec_rules import workload_violations

SERVER_OWNED = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of `metadata` that are shown as the server knows them, whatever was written."""


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """One object as wanted; `kind` is ours also where the manifest is a Job or a PriorityClass.

    `digest` is of all that the spec was read from, empty where that is not known (`KnownSpecs`).
    `keeps` names fields of the spec that the caller left out and that stay as they are in a change
    (`priority` of a workload: it is to be resolved). `places` say where parts of our shape stand in
    the manifest as it was written. `uid` and `resource_version` are the caller's, often empty.
    `written` is the object as `written_body` keeps it; empty where it is not kept. `templates` are
    the whole pod templates of a workload that stand beside the log. `warnings` tell of fields that
    are accepted without effect. `imported` is how a workload stands in Kueue, if that was asked.
    """

    kind: str
    namespace: str = ""
    name: str
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Any
    digest: bytes = b""
    keeps: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    source: str
    line: int = 0
    written: bytes = b""
    templates: tuple[bytes, ...] = ()
    warnings: tuple[Violation, ...] = ()
    imported: ImportedStatus | None = None

    @property
    def stream_kind(self) -> str:
        """The kind as it stands in the names of streams."""
        return self.kind.lower()


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is no valid manifest; names are as far as they could be read."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    problem: InvalidObject
    line: int = 0


def named(desired: Desired, ending: str) -> Desired:
    """The object with the name that `generateName` and `ending` give, if it has none."""
    if desired.name or not desired.generate_name:
        return desired
    return replace(desired, name=desired.generate_name + ending)


def as_written(problem: Rejection, desired: Desired) -> Rejection:
    """The rejection with its pointers moved to where the caller wrote what they point to."""
    violations = tuple(
        Violation(moved(each.pointer, desired.places), each.message) for each in problem.violations
    )
    code, arguments = problem.message.code, problem.message.arguments
    if "pointer" in arguments:
        arguments = {**arguments, "pointer": violations[0].pointer}
    return type(problem)(code, violations=violations, **arguments)


DEFAULT_NAMESPACE = "default"
MAX_OBJECTS = 20_000
MAX_OBJECT_BYTES = 1_572_864
"""1.5 MiB, as the request limit of Kubernetes' etcd: what fits there fits here."""

Read = tuple[Any, tuple[str, ...], Places, tuple[bytes, ...]]
"""A spec, the fields a change keeps, where parts of it stand, and whole pod templates."""

_KNOWN_WORKLOADS: KnownSpecs[Read] = KnownSpecs()


def parse(
    body: bytes,
    *,
    content_type: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    imports: bool = False,
    runtimes: Runtimes | None = None,
) -> tuple[Desired | Refused, ...]:
    """Every object that `body` asks for, in order, Lists opened.

    Raises `InvalidObject` only where the text as a whole cannot be read; a document that breaks
    rules is a `Refused` among the others. `namespace` is for objects that name none. With `imports`
    Workloads are read with their status, as Kueue wrote it. `runtimes` are the training runtimes
    that exist; those of the body go before them.
    """
    documents = [inner for outer in read_documents(body, content_type) for inner in _opened(outer)]
    if len(documents) > MAX_OBJECTS:
        raise InvalidObject("TooManyObjects", count=len(documents), maximum=MAX_OBJECTS)
    known = {**(runtimes or {}), **_runtimes_among(documents, namespace)}
    found = tuple(
        _parsed(document, namespace, group, imports=imports, runtimes=known)
        for document, group in grouped(documents)
    )
    drop_in_thread(documents)
    return found


def _runtimes_among(documents: Sequence[Document], namespace: str) -> Runtimes:
    """The training runtimes of a body, for the TrainJobs beside them."""
    found = (
        _parsed(document, namespace, group)
        for document, group in grouped(
            each
            for each in documents
            if isinstance(each.value, dict) and each.value.get("kind") in RUNTIME_KINDS
        )
    )
    return {
        (each.kind, each.namespace, each.name): each.spec
        for each in found
        if isinstance(each, Desired)
    }


def parse_value(
    value: Any, *, namespace: str = DEFAULT_NAMESPACE, runtimes: Runtimes | None = None
) -> Desired | Refused:
    """One object from plain values that have been read already, as in a batch."""
    ((document, group),) = grouped([Document(value)])
    return _parsed(document, namespace, group, runtimes=runtimes or {})


def parse_object(
    body: bytes,
    kind: str,
    *,
    content_type: str = "",
    namespace: str = DEFAULT_NAMESPACE,
    runtimes: Runtimes | None = None,
) -> Desired:
    """The one object of `kind` that `body` asks for; raises `InvalidObject` for anything else."""
    found = parse(body, content_type=content_type, namespace=namespace, runtimes=runtimes)
    if len(found) != 1:
        raise InvalidObject("NotOneObject", count=len(found), kind=kind)
    if isinstance(only := found[0], Refused):
        raise only.problem
    if only.kind != kind:
        raise InvalidObject.at("/kind", "KindDiffers", found=only.source, kind=kind)
    return only


def _opened(document: Document) -> Iterator[Document]:
    value = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    is_list = isinstance(kind, str) and (kind == "List" or kind.removesuffix("List") != kind)
    if not is_list or not isinstance(value.get("items"), list):
        yield document
        return
    for item in value["items"]:
        if isinstance(item, dict) and kind != "List":
            named = {"apiVersion": value.get("apiVersion"), "kind": str(kind)[: -len("List")]}
            yield Document({**named, **item}, document.line)
        else:
            yield Document(item, document.line)


def _parsed(
    document: Document,
    namespace: str,
    group: PodGroup,
    *,
    imports: bool = False,
    runtimes: Runtimes = NO_RUNTIMES,
) -> Desired | Refused:
    stop_if_cancelled()
    problems, value = Problems(), document.value
    if not isinstance(value, dict):
        problems.append(violation("", "NotManifest"))
        return _refused(document, problems, None, "")
    size = len(msgspec.json.encode(group.pods or value))
    if size > MAX_OBJECT_BYTES:
        problems.append(violation("", "ObjectTooLarge", maximum=MAX_OBJECT_BYTES, length=size))
        return _refused(document, problems, None, "")
    root = Fields(value, "", problems)
    kind = read_kind(root)
    if kind is None:
        return _refused(document, problems, None, root.text("kind"))
    metadata = read_metadata(root, kind, namespace)
    if group.name:
        metadata = msgspec.structs.replace(metadata, name=group.name, uid="", resource_version="")
    (spec, keeps, places, templates), digest = _spec(kind, root, metadata, group, runtimes)
    imported = read_imported_status(root) if imports and kind.name == "Workload" else None
    root.reject_unknown()
    desired = Desired(
        kind=kind.becomes,
        namespace=metadata.namespace,
        name=metadata.name,
        generate_name=metadata.generate_name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        labels=metadata.labels | _kind_label(kind),
        annotations=_annotations(kind, metadata),
        spec=spec,
        digest=digest,
        keeps=keeps,
        places=places,
        templates=templates,
        source=f"{kind.versions[0]} {kind.name}",
        line=document.line,
        warnings=tuple(problems.warnings),
        imported=imported,
    )
    if not problems:
        return msgspec.structs.replace(desired, written=_written(kind, value))
    return _refused(document, _with_broken_rules(problems, desired), metadata, kind.becomes)


def _written(kind: ManifestKind, manifest: dict[str, Any]) -> bytes:
    """What is kept of an object as written; nothing where it has another shape than is shown."""
    codec = CODECS_BY_NAME.get(kind.name)
    if codec is None or manifest["apiVersion"] in codec.versions_at_root:
        return b""
    return written_body(manifest)


def written_body(manifest: dict[str, Any]) -> bytes:
    """What is kept of a manifest: canonical JSON, the keys in the order they were written in.

    Kept is everything but what the server owns: quantities, the order of keys and allowed fields
    that nothing reads stay as they were. Name, namespace, labels and annotations are in the event
    to the letter, and so are not repeated: objects that differ in nothing else are kept once.
    """
    metadata = {
        name: value
        for name, value in (manifest.get("metadata") or {}).items()
        if name not in SERVER_OWNED
    }
    kept = {
        name: metadata if name == "metadata" else value
        for name, value in manifest.items()
        if name != "status"
    }
    return msgspec.json.encode(kept)


def _is_job(kind: ManifestKind) -> bool:
    """Whether manifests of a kind become workloads without being Workloads."""
    return kind.becomes == "Workload" and kind.name != "Workload"


def _annotations(kind: ManifestKind, metadata: Metadata) -> dict[str, str]:
    if _is_job(kind):
        return {**metadata.annotations, SUBMITTED_AS: f"{kind.versions[0]} {kind.name}"}
    return metadata.annotations


def _kind_label(kind: ManifestKind) -> dict[str, str]:
    """The label by which workloads are listed as the kind that they were submitted as."""
    return {KIND_LABEL: kind.name} if _is_job(kind) else {}


def _spec(
    kind: ManifestKind, root: Fields, metadata: Metadata, group: PodGroup, runtimes: Runtimes
) -> tuple[Read, bytes]:
    """What the kind reads, and the digest of a spec that is read once for many."""
    codec = CODECS_BY_NAME.get(kind.becomes)
    if codec is not None:
        return (*codec.read_object(root), ()), b""
    spec = root.child_or_empty("spec")
    if kind.name == "Workload":
        marks = (metadata.labels, metadata.annotations)
        return _KNOWN_WORKLOADS.read(spec, marks, lambda: read_workload(spec, metadata))
    job, places, templates = _read_job(kind, root, spec, metadata, group, runtimes)
    spec.reject_unknown()
    return (job, ("priority",), places, templates), b""


def _read_job(  # noqa: PLR0913, PLR0917
    kind: ManifestKind,
    root: Fields,
    spec: Fields,
    metadata: Metadata,
    group: PodGroup,
    runtimes: Runtimes,
) -> ReadJob:
    match kind.name:
        case "Job":
            return read_job(root, spec, metadata)
        case "JobSet":
            return read_job_set(root, spec, metadata)
        case "Pod":
            return read_pods(root, spec, metadata, group)
        case "PodGroup":
            return read_pod_group(root, spec, metadata, group)
        case "TrainJob":
            roles = partial(train_job_roles, runtimes)
            kind_of_job = replace(JOB_KINDS_BY_NAME["TrainJob"], roles=roles)
            return read_job_kind(kind_of_job, root, spec, metadata)
        case name:
            return read_job_kind(JOB_KINDS_BY_NAME[name], root, spec, metadata)


def _with_broken_rules(problems: Problems, desired: Desired) -> list[Violation]:
    """The problems of reading, and the broken rules about what could be read."""
    written = [
        msgspec.structs.replace(problem, pointer=moved(problem.pointer, desired.places))
        for problem in problems
    ]
    kind = KINDS_BY_NAME.get(desired.kind)
    rule_of_name = kind.broken_rule_of_name if kind else broken_rule_of_name
    rules = (
        *(
            identity_violations(desired.name, desired.namespace, rule_of_name)
            if desired.name
            else ()
        ),
        *marking_violations(desired.labels, desired.annotations),
        *(kind.rules(desired.spec) if kind else workload_violations(desired.spec)),
    )
    for rule in rules:
        pointer = moved(rule.pointer, desired.places)
        if not any(_overlap(pointer, problem.pointer) for problem in written):
            written.append(msgspec.structs.replace(rule, pointer=pointer))
    return list({(p.pointer, repr(p.message)): p for p in written}.values())


def _overlap(left: str, right: str) -> bool:
    return lies_within(left, right) or lies_within(right, left)


def _refused(
    document: Document, problems: list[Violation], metadata: Metadata | None, kind: str
) -> Refused:
    name = metadata.name if metadata else ""
    place = f" (line {document.line})" if document.line else ""
    problem = invalid_object(f"{kind or 'Object'} {name}".strip() + place, tuple(problems))
    return Refused(
        kind=kind,
        namespace=metadata.namespace if metadata else "",
        name=name,
        problem=problem,
        line=document.line,
    )
