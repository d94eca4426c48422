"""Jobs and JobSets as they are read, as they are submitted, and the patch that starts one."""

from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.domain.values.capabilities import JOB
from headgate.executor.substrate import Object
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL
from headgate.executor.substrates.kubernetes.objects import Camel, Condition, Metadata

GATE = "headgate.dev/placed"
FAILURES = frozenset({"Failed", "FailureTarget"})
GENERATED_LABELS = frozenset(
    {
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "job-name",
    }
)
LEFT_TO_KUBERNETES = (
    "backoffLimit",
    "backoffLimitPerIndex",
    "failurePolicy",
    "managedBy",
    "manualSelector",
    "maxFailedIndexes",
    "podFailurePolicy",
    "podReplacementPolicy",
    "selector",
    "suspend",
    "ttlSecondsAfterFinished",
)
"""Fields of a Job that its controller heeds, and that are not submitted."""
PATHS = {
    "Job": ("/apis/batch/v1", "jobs"),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
}


class _Named(Camel):
    metadata: Metadata


class _Status(Camel):
    conditions: list[Condition] = []


class Job(Camel):
    """A Job or JobSet with its whole spec."""

    metadata: Metadata
    kind: str = ""
    spec: dict[str, Any] = {}
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def key(self) -> str:
        """Kind, namespace and name."""
        return f"{self.kind}/{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_suspended(self) -> bool:
        """Whether it waits to be unsuspended."""
        return bool(self.spec.get("suspend"))

    @property
    def failure(self) -> str:
        """Why it has failed; empty while it has not."""
        found = [each for each in self.status.conditions if each.type in FAILURES]
        return next(
            (f"{each.reason}: {each.message}" for each in found if each.status == "True"), ""
        )

    @property
    def has_ended(self) -> bool:
        """Whether its controller does nothing more."""
        ends = {"Complete", "Completed", "SuccessCriteriaMet", *FAILURES}
        return any(each.type in ends and each.status == "True" for each in self.status.conditions)

    @property
    def path(self) -> str:
        """Where it is changed."""
        group, plural = PATHS[self.kind]
        return f"{group}/namespaces/{self.metadata.namespace}/{plural}/{self.metadata.name}"

    def templates(self) -> Iterator[Object]:
        """Yields its pod templates, to be changed in place."""
        if self.kind == "Job":
            yield self.spec["template"]
        for replicated in self.spec.get("replicatedJobs") or ():
            yield replicated["template"]["spec"]["template"]


def manifest_of(job: Job, executor: str) -> Object:
    """Returns the manifest that is submitted: pods retried by their Job are retried by it alone.

    The annotation of its templates has only this executor run them, as pods of this Job.
    """
    copied = msgspec.convert(msgspec.to_builtins(job), Job)
    spec = copied.spec
    reference = f"{executor}/{job.key}/{job.metadata.uid}"
    for template in copied.templates():
        metadata = template.setdefault("metadata", {})
        metadata["annotations"] = {**(metadata.get("annotations") or {}), JOB: reference}
        labels = metadata.get("labels") or {}
        metadata["labels"] = {
            name: value for name, value in labels.items() if name not in GENERATED_LABELS
        }
    replicated = [each["template"]["spec"] for each in spec.get("replicatedJobs") or ()]
    for each in (spec, *replicated):
        for name in LEFT_TO_KUBERNETES:
            each.pop(name, None)
    for each in replicated or [spec]:
        each["backoffLimit"] = 0
    group = PATHS[job.kind][0].removeprefix("/apis/")
    annotations = {
        name: value
        for name, value in job.metadata.annotations.items()
        if not name.startswith("kubectl.kubernetes.io/")
    }
    metadata = {"name": job.metadata.name, "namespace": job.metadata.namespace}
    told: Object = {**metadata, "labels": job.metadata.labels, "annotations": annotations}
    return {"apiVersion": group, "kind": job.kind, "metadata": told, "spec": spec}


def start_patch(job: Job, executor: str) -> Object:
    """Returns the patch that starts a Job with its pods gated and known as this executor's.

    A merge patch replaces lists: those of a JobSet whole, and only as they were read.
    """
    copied = msgspec.convert(msgspec.to_builtins(job), Job)
    reference = f"{executor}/{job.key}/{job.metadata.uid}"
    for template in copied.templates():
        metadata, spec = template.setdefault("metadata", {}), template["spec"]
        gates = [each for each in spec.get("schedulingGates") or () if each["name"] != GATE]
        spec["schedulingGates"] = [*gates, {"name": GATE}]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), JOB: reference}
        metadata["labels"] = {**(metadata.get("labels") or {}), EXECUTOR_LABEL: executor}
    if job.kind == "JobSet":
        version = {"resourceVersion": job.metadata.resource_version}
        changed = {"suspend": False, "replicatedJobs": copied.spec["replicatedJobs"]}
        return {"metadata": version, "spec": changed}
    (template,) = copied.templates()
    changed_template = {
        "metadata": {
            "annotations": {JOB: reference},
            "labels": {EXECUTOR_LABEL: executor},
        },
        "spec": {"schedulingGates": template["spec"]["schedulingGates"]},
    }
    return {"spec": {"suspend": False, "template": changed_template}}


def indices_of(job: Job | None, replicated: str) -> int:
    """Returns how many completion indices each Job of a replicated Job has."""
    for each in (job.spec.get("replicatedJobs") or ()) if job is not None else ():
        if each["name"] == replicated:
            spec = each["template"]["spec"]
            return int(spec.get("completions") or spec.get("parallelism", 1))
    return 1


def convert_namespace(content: bytes) -> tuple[str, str, str]:
    """Returns key, version and name of a namespace."""
    metadata = msgspec.json.decode(content, type=_Named).metadata
    return metadata.name, metadata.resource_version, metadata.name


def convert_job(kind: str, content: bytes) -> tuple[str, str, Job]:
    """Returns key, version and content of a Job or JobSet."""
    job = msgspec.json.decode(content, type=Job)
    job.kind = kind
    return f"{job.metadata.namespace}/{job.metadata.name}", job.metadata.resource_version, job
