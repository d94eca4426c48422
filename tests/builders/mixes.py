"""Mixes of submits for measurements: workloads as the templates of a real installation differ.

`small` has one container. `training` has 160 different pod templates with environment, volumes and
labels; `unique` gives each of these arguments and a variable of its own. `diverse` has 2,000
templates of random words, image digests and tokens.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Any, Literal, get_args

from msgspec.structs import replace

from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadOwner,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.priority import resolve_priority

Mix = Literal["small", "training", "unique", "diverse"]
MIXES: tuple[Mix, ...] = get_args(Mix)
NAMESPACE = "bench"
OWNER = WorkloadOwner(user="bench")
TEMPLATES: dict[Mix, int] = {"small": 1, "training": 160, "unique": 160, "diverse": 2_000}
GPU = "nvidia.com/gpu"
RESOURCES = ("cpu", "memory", GPU)


def a_manifest_of(mix: Mix, number: int, queue: str) -> dict[str, Any]:
    """Returns the manifest of a Workload; workloads of equal numbers have equal manifests."""
    template = _template_of(mix, number % TEMPLATES[mix])
    if mix == "unique":
        (container,) = template["spec"]["containers"]
        container["args"] = [*container["args"], f"--seed={number}"]
        container["env"] = [*container["env"], {"name": "RUN_ID", "value": f"run-{number:010}"}]
    metadata: dict[str, Any] = {"name": f"{mix}-{number}", "namespace": NAMESPACE}
    if mix != "small":
        metadata["labels"] = {"team": f"team-{number % 20}", "experiment": f"sweep-{number % 400}"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {
            "queueName": queue,
            "podSets": [{"name": "main", "count": 1 + number % 4, "template": template}],
        },
    }


def a_submission_of(mix: Mix, number: int, queue: str) -> tuple[WorkloadSubmitted, Desired]:
    """Returns the event of a submit, and what its manifest asks for."""
    if mix in {"small", "training"}:
        # Only names and labels differ between the workloads of one template and count.
        event, desired = _parsed(mix, number % (4 * TEMPLATES[mix]), queue)
        labels = a_manifest_of(mix, number, queue)["metadata"].get("labels", {})
        return _named(event, mix, number, labels), desired
    event, desired = _parsed.__wrapped__(mix, number, queue)
    return _named(event, mix, number, event.labels), desired


def a_life_of(submitted: WorkloadSubmitted, queue: str) -> Iterator[WorkloadEvent]:
    """Yields the five events of a workload that runs in a ClusterQueue and succeeds."""
    yield submitted
    yield WorkloadQuotaReserved(admission=an_admission_of(submitted, queue))
    yield WorkloadAdmitted(waited_seconds=1)
    yield WorkloadPodsReady()
    yield WorkloadFinished(reason="Succeeded")


def an_admission_of(submitted: WorkloadSubmitted, queue: str) -> Admission:
    """Returns the admission of all its pods in the flavor `plain`."""
    return Admission(
        cluster_queue=queue,
        pod_set_assignments=tuple(
            PodSetAssignment(
                name=pod_set.name,
                flavors=dict.fromkeys(pod_set.scheduling.requests, "plain"),
                resource_usage={
                    name: amount * pod_set.count
                    for name, amount in pod_set.scheduling.requests.items()
                },
                count=pod_set.count,
            )
            for pod_set in submitted.spec.pod_sets
        ),
    )


@lru_cache(maxsize=4_096)
def _parsed(mix: Mix, number: int, queue: str) -> tuple[WorkloadSubmitted, Desired]:
    desired = parse_value(a_manifest_of(mix, number, queue))
    assert isinstance(desired, Desired), desired
    spec = resolve_priority(desired.spec, {}, has_explicit_priority=False)
    event = WorkloadSubmitted(
        uid="",
        namespace=NAMESPACE,
        name=desired.name,
        labels=desired.labels,
        spec=spec,
        owner=OWNER,
    )
    return event, desired


def _named(
    event: WorkloadSubmitted, mix: Mix, number: int, labels: dict[str, str]
) -> WorkloadSubmitted:
    uid = f"0199c0de-{number >> 16:04x}-7{MIXES.index(mix):03x}-8000-{number:012x}"
    return replace(event, uid=uid, name=f"{mix}-{number}", labels=labels)


def _template_of(mix: Mix, number: int) -> dict[str, Any]:
    match mix:
        case "small":
            return _small_template()
        case "training" | "unique":
            return _training_template(number)
        case "diverse":
            return _diverse_template(number)


def _small_template() -> dict[str, Any]:
    resources = {"requests": {"cpu": "1"}}
    return {"spec": {"containers": [{"name": "main", "image": "none", "resources": resources}]}}


def _training_template(number: int) -> dict[str, Any]:
    variables = {
        "NCCL_DEBUG": "WARN",
        "NCCL_IB_HCA": "mlx5",
        "MASTER_PORT": "29500",
        "OMP_NUM_THREADS": "8",
        "DATASET": f"s3://datasets/corpus-{number % 10}",
        "CHECKPOINTS": f"/checkpoints/model-{number}",
        "LEARNING_RATE": f"0.000{1 + number % 9}",
    }
    arguments = ["--model", f"llama-{number % 8}", "--layers", str(12 + number % 16)]
    mounts = [
        {"name": "shared-memory", "mountPath": "/dev/shm"},
        {"name": "checkpoints", "mountPath": "/checkpoints"},
        {"name": "datasets", "mountPath": "/datasets", "readOnly": True},
    ]
    requests = {"cpu": str(8 + number % 5), "memory": f"{64 + 16 * (number % 4)}Gi", GPU: "1"}
    container = {
        "name": "trainer",
        "image": f"registry.example.com/research/trainer:2.{number % 12}.0",
        "command": ["torchrun", "--nproc-per-node=1", "train.py"],
        "args": arguments,
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": {"requests": requests, "limits": dict(requests)},
        "volumeMounts": mounts,
    }
    labels = {"app.kubernetes.io/name": "trainer", "app.kubernetes.io/part-of": f"set-{number}"}
    return {
        "metadata": {"labels": labels, "annotations": {"example.com/owner": "research"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
            "volumes": [
                {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
                {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
                {"name": "datasets", "persistentVolumeClaim": {"claimName": "datasets"}},
            ],
        },
    }


def _diverse_template(number: int) -> dict[str, Any]:
    chance = Random(number)

    def word(bits: int) -> str:
        return f"{chance.getrandbits(bits):0{bits // 4}x}"

    container = {
        "name": f"c-{word(32)}",
        "image": f"registry.example.com/{word(32)}/{word(32)}@sha256:{word(256)}",
        "command": [f"/opt/{word(48)}/{word(48)}"],
        "args": [f"--{word(32)}={word(64)}" for _ in range(6)],
        "env": [{"name": f"V_{word(32).upper()}", "value": word(128)} for _ in range(8)],
        "resources": {"requests": {"cpu": str(chance.randint(1, 64)), "memory": "8Gi"}},
    }
    labels = {f"example.com/{word(32)}": word(64) for _ in range(3)}
    annotations = {f"example.com/{word(32)}": word(128) for _ in range(2)}
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
