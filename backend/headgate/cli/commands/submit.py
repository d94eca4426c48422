"""`submit`: one workload, from a file or from flags."""

from typing import Annotated, Any

import msgspec
import typer

from headgate.adapters.system.randomness import unique_key
from headgate.cli.commands.apply import Waiting, code_of_results, tell_results
from headgate.cli.commands.documents import Files, documents_of
from headgate.cli.commands.expectations import Expected, need_a_trial
from headgate.cli.commands.simulate import tell
from headgate.cli.commands.wait import goal_of, wait_for
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import DEFAULT_NAMESPACE, DryRun, Namespace, Output, Simulated, Timeout
from headgate.cli.presentation.output import Format, say, show, show_value
from headgate.cli.presentation.units import seconds_of
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Advice, Batch, ItemResult

API_VERSION = "kueue.x-k8s.io/v1beta2"
RUN_SECONDS = "headgate.dev/run-seconds"

Object = dict[str, Any]
RunSeconds = Annotated[
    int | None, typer.Option(min=0, help="How long a simulated executor runs it.")
]
Unconstrained = Annotated[bool, typer.Option(help="Pods anywhere in the topology.")]
Preemptibility = Annotated[str, typer.Option(help="Preemptible, NonPreemptible, SemiPreemptible.")]
MaximumSeconds = Annotated[int | None, typer.Option(min=1, help="Stop it after that long.")]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of one pod set as flags describe it."""

    name: str
    namespace: str
    queue: str
    requests: dict[str, str]
    pods: int = 1
    minimum: int | None = None
    priority_class: str = ""
    topology: dict[str, Any] = {}
    labels: dict[str, str] = {}
    run_seconds: int | None = None
    maximum_execution_seconds: int | None = None
    preemptibility: str = ""
    single_pods: bool = False


def submit(
    ctx: typer.Context,
    *,
    files: Files = [],  # noqa: B006 - Typer copies it
    name: Annotated[str, typer.Option("--name", help="Its name; made up if left out.")] = "",
    queue: Annotated[str, typer.Option("--queue", "-q", help="The LocalQueue.")] = "",
    cpu: Annotated[str, typer.Option(help="CPU of one pod, such as 500m or 4.")] = "",
    memory: Annotated[str, typer.Option(help="Memory of one pod, such as 4Gi.")] = "",
    gpu: Annotated[int, typer.Option(min=0, help="GPUs of one pod (nvidia.com/gpu).")] = 0,
    request: Annotated[list[str], typer.Option(help="Any other resource, NAME=AMOUNT.")] = [],  # noqa: B006
    pods: Annotated[int, typer.Option(min=1, help="How many equal pods.")] = 1,
    min_pods: Annotated[int | None, typer.Option(help="Start with fewer, down to this.")] = None,
    priority_class: Annotated[str, typer.Option(help="A WorkloadPriorityClass.")] = "",
    required_topology: Annotated[str, typer.Option(help="All pods in one such domain.")] = "",
    preferred_topology: Annotated[str, typer.Option(help="In one such domain if possible.")] = "",
    unconstrained_topology: Unconstrained = False,
    label: Annotated[list[str], typer.Option(help="A label, KEY=VALUE.")] = [],  # noqa: B006
    run_seconds: RunSeconds = None,
    max_execution_seconds: MaximumSeconds = None,
    preemptibility: Preemptibility = "",
    single_pods: Annotated[bool, typer.Option(help="Single pods of it may be preempted.")] = False,
    namespace: Namespace = DEFAULT_NAMESPACE,
    dry_run: DryRun = False,
    simulate: Simulated = False,
    expect: Expected = [],  # noqa: B006
    wait: Waiting = False,
    timeout: Timeout = "10m",
    output: Output = Format.TABLE,
) -> None:
    """Submit a workload: `submit --queue team-a --cpu 4 --memory 8Gi --gpu 1 --pods 8`.

    With flags it is a new one: a workload of that name is left as it is. Files are applied.
    """
    need_a_trial(expect, simulate=simulate)
    manifest: Object = {}
    if files:
        documents = _documents_alone(files, name, queue, cpu, memory)
    else:
        wanted = Wanted(
            name=name or f"workload-{unique_key()[:8]}",
            namespace=namespace,
            queue=queue,
            requests=_requests(cpu, memory, gpu, request),
            pods=pods,
            minimum=min_pods,
            priority_class=priority_class,
            topology=_topology(required_topology, preferred_topology, unconstrained_topology),
            labels=pairs(label),
            run_seconds=run_seconds,
            maximum_execution_seconds=max_execution_seconds,
            preemptibility=preemptibility,
            single_pods=single_pods,
        )
        manifest = manifest_of(wanted)
        documents = msgspec.json.encode(manifest)
    with client_of(ctx) as client:
        if simulate:
            tell(client.simulate(documents), output, expect)
            return
        batch = _written(client, documents, manifest, dry_run=dry_run)
        _tell_batch(batch, output, dry_run=dry_run)
        if wait and not dry_run:
            _wait_for_admissions(client, batch, seconds_of(timeout))


def _written(client: HeadgateClient, documents: bytes, manifest: Object, *, dry_run: bool) -> Batch:
    """Files are applied; what flags describe is submitted as new, and never changes another."""
    if not manifest:
        return client.apply(documents, dry_run=dry_run)
    if not dry_run:
        return client.submit_batch([manifest], key=unique_key())
    tried = client.try_submit(manifest)
    place, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    result = ItemResult(namespace=place, name=name, outcome="created")
    warnings = msgspec.convert(tried.get("warnings", []), list[Advice])
    return Batch(results=[result], warnings=warnings)


def _tell_batch(batch: Batch, output: Format, *, dry_run: bool) -> None:
    """What became of each; ends the command if any was refused."""
    if not show_value(batch, output):
        tell_results(batch, dry_run=dry_run)
    code = code_of_results(batch)
    if code is not ExitCode.OK:
        raise typer.Exit(code)
    if not dry_run:
        _say_what_next(batch)


def _documents_alone(files: list[str], *flags: str) -> bytes:
    if any(flags):
        raise CommandFailed("give a file or flags, not both", code=ExitCode.USAGE)
    return documents_of(files)


def _wait_for_admissions(client: HeadgateClient, batch: Batch, seconds: float) -> None:
    for result in batch.results:
        wait_for(
            client, f"{result.namespace}/{result.name}", goal_of("condition=Admitted"), seconds
        )
        show(f"{result.reference} admitted")


def manifest_of(wanted: Wanted) -> Object:
    """The Workload manifest that says the same as the flags."""
    if not wanted.queue:
        raise CommandFailed("name the queue with --queue, or a file with -f", code=ExitCode.USAGE)
    container = {"name": "main", "image": "main", "resources": {"requests": wanted.requests}}
    pod_set: Object = {
        "name": "main",
        "count": wanted.pods,
        "template": {"spec": {"containers": [container]}},
    }
    if wanted.minimum is not None:
        pod_set["minCount"] = wanted.minimum
    if wanted.single_pods:
        pod_set["disruptionMode"] = "Single"
    if wanted.topology:
        pod_set["topologyRequest"] = wanted.topology
    spec: Object = {"queueName": wanted.queue, "podSets": [pod_set]}
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    if wanted.maximum_execution_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = wanted.maximum_execution_seconds
    if wanted.preemptibility:
        spec["preemptibility"] = wanted.preemptibility
    metadata: Object = {"name": wanted.name, "namespace": wanted.namespace}
    if wanted.labels:
        metadata["labels"] = wanted.labels
    if wanted.run_seconds is not None:
        metadata["annotations"] = {RUN_SECONDS: str(wanted.run_seconds)}
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def pairs(words: list[str]) -> dict[str, str]:
    """`KEY=VALUE` words as a mapping."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise CommandFailed(f"{word!r} is not KEY=VALUE", code=ExitCode.USAGE)
        found[key] = value
    return found


def _requests(cpu: str, memory: str, gpu: int, others: list[str]) -> dict[str, str]:
    named = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpu) if gpu else ""}
    return {**{name: value for name, value in named.items() if value}, **pairs(others)}


def _topology(required: str, preferred: str, unconstrained: bool) -> Object:
    named = {"required": required, "preferred": preferred, "unconstrained": unconstrained}
    chosen = {name: value for name, value in named.items() if value}
    if len(chosen) > 1:
        raise CommandFailed(
            "at most one of --required-topology, --preferred-topology, --unconstrained-topology",
            code=ExitCode.USAGE,
        )
    return chosen


def _say_what_next(batch: Batch) -> None:
    for result in batch.results:
        if result.kind == WORKLOAD.name:
            say(f"  headgate why {result.namespace}/{result.name}")
