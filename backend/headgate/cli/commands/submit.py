"""`submit`: a workload, from options or from files."""

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headgate.adapters.system.clocks_and_randomness import unique_key
from headgate.cli.commands.apply import code_of_results, is_shown_unsent, tell_results
from headgate.cli.commands.batch_script import read_script
from headgate.cli.commands.simulate import Expected
from headgate.cli.commands.wait import (
    ADMITTED,
    delete_present,
    telling,
    try_submit,
    wait_for_batch,
    with_remedy,
)
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    DryRunIn,
    DryRunMode,
    Files,
    LocalQueue,
    Namespace,
    Output,
    Simulated,
    Timeout,
    Upload,
    argument,
    client_of,
    directory_of,
    documents_of,
    option,
    ship,
)
from headgate.cli.output import Format, say, show_value
from headgate.cli.units import seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Advice, Batch, ItemResult

API_VERSION = "kueue.x-k8s.io/v1beta2"
RUN_SECONDS = "headgate.dev/run-seconds"
DEFAULT_QUEUE = "default"
MAX_NAME_LENGTH = 40

Object = dict[str, Any]
OtherRequests = Annotated[list[str], option("NAME=QUANTITY", "Other resource per pod (repeatable)")]
SinglePods = Annotated[bool, typer.Option("--single-pods", help="Allow preemption of single pods")]
RunSeconds = Annotated[
    int | None, option("NUMBER", "Simulated run time (demo executor only)", min=0)
]
Unconstrained = Annotated[
    bool, typer.Option("--unconstrained-topology", help="Pods on any hosts of the topology")
]
Preemptibility = Annotated[str, option("VALUE", "Preemptible, NonPreemptible or SemiPreemptible")]
Environment = Annotated[
    list[str], option("KEY=VALUE", "Environment variable of the pods (repeatable)")
]
Directory = Annotated[
    str, option("DIRECTORY", "Working directory on the hosts (default: the current one)")
]
Script = Annotated[
    list[str] | None, argument("SCRIPT", "Batch script with #HEADGATE lines, and its arguments")
]
WaitForWorkloads = Annotated[bool, typer.Option("--wait", help="Wait for the condition of --for")]
Awaited = Annotated[
    str, option("CONDITION", "With --wait: condition=TYPE, phase=PHASE or finished", "--for")
]
MaximumSeconds = Annotated[int | None, option("NUMBER", "Maximum execution time", min=1)]
Retries = Annotated[int | None, option("NUMBER", "Retries of failed pods", min=0)]
RetryDelay = Annotated[str, option("DURATION", "Backoff before a pod's first retry (default: 10s)")]
Completions = Annotated[
    int | None, option("NUMBER", "Pods to complete, --parallelism at a time", min=1)
]
Parallelism = Annotated[
    int | None, option("NUMBER", "Pods at a time, with --completions (default: --pods)", min=1)
]
Replacing = Annotated[
    bool, typer.Option("--replace", help="Delete a workload of the name first, once it stopped")
]
Array = Annotated[str, option("0-LAST[%N]", "A pod for each index, N at a time (as sbatch)")]


_LITERAL = re.compile(r"\$(?=[$(])")
_ARRAY = re.compile(r"0-([0-9]{1,6})(?:%([1-9][0-9]{0,5}))?")
ARRAY_INDEX = "SLURM_ARRAY_TASK_ID"
"""Where scripts for sbatch read their index."""

_NOT_OF_A_NAME = re.compile(r"[^a-z0-9]+")


class Repetition(msgspec.Struct, frozen=True, kw_only=True):
    """How often pods run: retries of failed ones, and completions of which some run at a time."""

    retries: int | None = None
    retry_delay: str = ""
    completions: int | None = None
    parallelism: int | None = None
    is_array: bool = False


class WorkloadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of one pod set as options describe it."""

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
    repetition: Repetition = Repetition()


def submit(
    ctx: typer.Context,
    *,
    script: Script = None,
    files: Files = [],  # noqa: B006 - Typer copies it
    name: Annotated[str, option("NAME", "Name (generated if omitted)", "--name")] = "",
    queue: LocalQueue = "",
    cpu: Annotated[str, option("QUANTITY", "CPU per pod, e.g. 500m, 4")] = "",
    memory: Annotated[str, option("QUANTITY", "Memory per pod, e.g. 4Gi")] = "",
    gpu: Annotated[int, option("NUMBER", "GPUs per pod (nvidia.com/gpu)", min=0)] = 0,
    request: OtherRequests = [],  # noqa: B006
    pods: Annotated[int, option("NUMBER", "Number of pods", min=1)] = 1,
    min_pods: Annotated[int | None, option("NUMBER", "Minimum pods for partial admission")] = None,
    priority_class: Annotated[str, option("NAME", "WorkloadPriorityClass")] = "",
    required_topology: Annotated[str, option("LEVEL", "Required topology level, e.g. rack")] = "",
    preferred_topology: Annotated[str, option("LEVEL", "Preferred topology level")] = "",
    unconstrained_topology: Unconstrained = False,
    label: Annotated[list[str], option("KEY=VALUE", "Label (repeatable)")] = [],  # noqa: B006
    run_seconds: RunSeconds = None,
    max_execution_seconds: MaximumSeconds = None,
    preemptibility: Preemptibility = "",
    single_pods: SinglePods = False,
    env: Environment = [],  # noqa: B006
    chdir: Directory = "",
    upload: Upload = None,
    retries: Retries = None,
    retry_delay: RetryDelay = "",
    completions: Completions = None,
    parallelism: Parallelism = None,
    array: Array = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    replace: Replacing = False,
    dry_run: DryRunIn = DryRunMode.NONE,
    simulate: Simulated = False,
    expect: Expected = [],  # noqa: B006
    wait: WaitForWorkloads = False,
    awaited: Awaited = ADMITTED,
    timeout: Timeout = "10m",
    output: Output = Format.TABLE,
) -> None:
    """Submit a workload.

    Options describe a new workload, files are applied. A script runs in each pod, with options in
    #HEADGATE or #SBATCH lines: `headgate submit -q team-a --gpu 1 train.sh`
    """
    mode = DryRunMode.ADMISSION if simulate else dry_run
    if files:
        manifest, written = _of_files(files, upload, name, queue, cpu, memory, script or replace)
    else:
        options = WorkloadOptions(
            name=name or generated_name(script[0] if script else "workload"), namespace=namespace,
            requests=requests_of(cpu, memory, gpu, request), pods=pods, minimum=min_pods,
            topology=topology_of(required_topology, preferred_topology, unconstrained_topology),
            maximum_execution_seconds=max_execution_seconds, preemptibility=preemptibility,
            repetition=repetition_of(array, retries, retry_delay, completions, parallelism),
            priority_class=priority_class, labels=pairs(label), run_seconds=run_seconds,
            queue=queue or (DEFAULT_QUEUE if script else ""), single_pods=single_pods)  # fmt: skip
        manifest = _with_script(manifest_of(options), script, env, directory_of(upload, chdir))
        written = msgspec.json.encode(manifest)
    if is_shown_unsent(ctx, written, mode, expect, output):
        return
    with client_of(ctx) as client:
        batch = _submit(client, written, manifest, upload, output, mode, timeout if replace else "")
        if wait and mode is DryRunMode.NONE:
            wait_for_batch(client, batch, awaited, seconds_of(timeout), telling(output))


def _submit(
    client: HeadgateClient,
    documents: bytes,
    manifest: Object,
    upload: Path | None,
    output: Format,
    mode: DryRunMode,
    replaced: str,
) -> Batch:
    """Submits the manifest, or applies documents where there is none; shows each result.

    A workload of the name is deleted first within `replaced`, a duration; empty for not at all.
    """
    dry_run = mode is DryRunMode.SERVER
    if replaced and delete_present(client, manifest, seconds_of(replaced), dry_run=dry_run):
        return Batch(results=[])
    ship(client, manifest, upload)
    if not manifest:
        batch = client.apply(documents, dry_run=dry_run)
    elif not dry_run:
        batch = client.submit_batch([manifest], key=unique_key())
    else:
        preview = try_submit(client, manifest)
        place, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        result = ItemResult(namespace=place, name=name, outcome="created")
        warnings = msgspec.convert(preview.get("warnings", []), list[Advice])
        batch = Batch(results=[result], warnings=warnings)
    if manifest:
        batch = msgspec.structs.replace(batch, results=[with_remedy(one) for one in batch.results])
    _show_batch(batch, output, dry_run=dry_run)
    return batch


def _show_batch(batch: Batch, output: Format, *, dry_run: bool) -> None:
    """Shows each result; raises the exit of rejections."""
    if not show_value(batch, output):
        tell_results(batch, dry_run=dry_run, names_only=output is Format.NAME)
    code = code_of_results(batch)
    if code is not ExitCode.OK:
        raise typer.Exit(code)
    if not dry_run and output is not Format.NAME:
        _say_next_command(batch)


def _of_files(files: list[str], *options: object) -> tuple[Object, bytes]:
    """Returns the documents of files, and no manifest of options."""
    if any(options):
        raise CommandFailed("specify -f FILE or options, not both", code=ExitCode.USAGE)
    return {}, documents_of(files)


def repetition_of(
    array: str,
    retries: int | None,
    retry_delay: str,
    completions: int | None,
    parallelism: int | None,
) -> Repetition:
    """Returns how often pods run by the options; an array begins at index 0."""
    if parallelism is not None and completions is None and not array:
        raise CommandFailed("--parallelism requires --completions", code=ExitCode.USAGE)
    if array and completions is not None:
        raise CommandFailed("specify --array or --completions, not both", code=ExitCode.USAGE)
    if array:
        found = _ARRAY.fullmatch(array)
        if found is None:
            raise CommandFailed(
                f"--array={array} is not 0-LAST or 0-LAST%N",
                remedy="Begin at 0, as in 0-99%10, and calculate with $JOB_COMPLETION_INDEX.",
                code=ExitCode.USAGE,
            )
        completions = int(found[1]) + 1
        parallelism = int(found[2]) if found[2] else parallelism or completions
    return Repetition(
        retries=retries,
        retry_delay=retry_delay,
        completions=completions,
        parallelism=parallelism,
        is_array=bool(array),
    )


def _repeat(spec: Object, repetition: Repetition) -> None:
    """Adds retries and completions to a spec of one pod set."""
    if repetition.retries is not None or repetition.retry_delay:
        policy: Object = {}
        if repetition.retries is not None:
            policy["limit"] = repetition.retries
        if repetition.retry_delay:
            policy["backoffBaseSeconds"] = int(seconds_of(repetition.retry_delay))
        spec["retryPolicy"] = policy
    (pod_set,) = spec["podSets"]
    if repetition.completions is not None:
        at_once = repetition.parallelism or pod_set["count"]
        pod_set["count"] = min(at_once, repetition.completions)
        pod_set["completions"] = repetition.completions
    if repetition.is_array:
        (container,) = pod_set["template"]["spec"]["containers"]
        container["env"] = [{"name": ARRAY_INDEX, "value": "$(JOB_COMPLETION_INDEX)"}]


def manifest_of(options: WorkloadOptions) -> Object:
    """Returns the Workload manifest of the options."""
    if not options.queue:
        raise CommandFailed("specify --queue, or -f FILE", code=ExitCode.USAGE)
    container = {"name": "main", "resources": {"requests": options.requests}}
    pod_set: Object = {
        "name": "main",
        "count": options.pods,
        "template": {"spec": {"containers": [container]}},
    }
    if options.minimum is not None:
        pod_set["minCount"] = options.minimum
    if options.single_pods:
        pod_set["disruptionMode"] = "Single"
    if options.topology:
        pod_set["topologyRequest"] = options.topology
    spec: Object = {"queueName": options.queue, "podSets": [pod_set]}
    if options.priority_class:
        spec["priorityClassName"] = options.priority_class
    if options.maximum_execution_seconds is not None:
        spec["maximumExecutionTimeSeconds"] = options.maximum_execution_seconds
    if options.preemptibility:
        spec["preemptibility"] = options.preemptibility
    _repeat(spec, options.repetition)
    metadata: Object = {"name": options.name, "namespace": options.namespace}
    if options.labels:
        metadata["labels"] = options.labels
    if options.run_seconds is not None:
        metadata["annotations"] = {RUN_SECONDS: str(options.run_seconds)}
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def with_command(
    manifest: Object, command: list[str], environment: dict[str, str], directory: str
) -> Object:
    """Returns a manifest that runs a command; Kubernetes' `$(NAME)` is not expanded in it."""
    template = manifest["spec"]["podSets"][0]["template"]
    (container,) = template["spec"]["containers"]
    container["command"] = [_LITERAL.sub("$$", word) for word in command]
    if directory:
        container["workingDir"] = directory
    if environment:
        container["env"] = [
            *container.get("env", []),
            *(
                {"name": name, "value": _LITERAL.sub("$$", value)}
                for name, value in environment.items()
            ),
        ]
    template["spec"]["restartPolicy"] = "Never"
    return manifest


def generated_name(command: str) -> str:
    """Returns a unique name that tells the command apart from others in lists."""
    found = _NOT_OF_A_NAME.sub("-", Path(command).name.lower()).strip("-")
    return f"{found[:MAX_NAME_LENGTH].strip('-') or 'run'}-{unique_key()[:8]}"


def pairs(words: list[str]) -> dict[str, str]:
    """Returns `KEY=VALUE` words as a mapping."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise CommandFailed(f"{word!r} is not KEY=VALUE", code=ExitCode.USAGE)
        found[key] = value
    return found


def requests_of(cpu: str, memory: str, gpu: int, others: list[str]) -> dict[str, str]:
    """Returns the requests of a pod by resource."""
    named = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpu) if gpu else ""}
    return {**{name: value for name, value in named.items() if value}, **pairs(others)}


def topology_of(required: str, preferred: str, unconstrained: bool) -> Object:
    """Returns the topology request of a pod set; refuses more than one level."""
    named = {"required": required, "preferred": preferred, "unconstrained": unconstrained}
    chosen = {name: value for name, value in named.items() if value}
    if len(chosen) > 1:
        raise CommandFailed(
            "specify only one of --required-topology, --preferred-topology, "
            "--unconstrained-topology",
            code=ExitCode.USAGE,
        )
    return chosen


def _with_script(
    manifest: Object, script: list[str] | None, env: list[str], directory: str
) -> Object:
    """Returns the manifest with a batch script as its command, if there is one."""
    if not script:
        return manifest
    found = read_script(Path(script[0]), script[1:])
    if found.ignored:
        ignored = ", ".join(found.ignored)
        say(f"#SBATCH options without an equal meaning are ignored: {ignored}")
    return with_command(manifest, found.command, pairs(env), directory)


def _say_next_command(batch: Batch) -> None:
    for result in batch.results:
        if result.kind == WORKLOAD.name:
            say(f"Status: headgate why {result.namespace}/{result.name}")
