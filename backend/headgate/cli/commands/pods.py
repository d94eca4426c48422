"""`run`, `logs` and `pods`: commands on the cluster, the output of pods, and their states.

`run` behaves as srun does: it waits, shows the output of all pods by rank, passes Ctrl-C on, and
ends with the code of the command.
"""

import contextlib
import signal
import threading
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Annotated, Any

import typer

from headgate.adapters.system.clocks_and_randomness import unique_key
from headgate.cli.commands.sessions import is_terminal, run_session
from headgate.cli.commands.submit import (
    DEFAULT_QUEUE,
    Completions,
    Environment,
    OtherRequests,
    Parallelism,
    Retries,
    RetryDelay,
    WorkloadOptions,
    generated_name,
    manifest_of,
    pairs,
    repetition_of,
    requests_of,
    topology_of,
    with_command,
)
from headgate.cli.commands.wait import FINISHED, phase_of
from headgate.cli.commands.why import failed_pods
from headgate.cli.failures import (
    CommandFailed,
    ExitCode,
    Failure,
    exit_for,
    problem_in,
    tell_problem,
)
from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    LocalQueue,
    Namespace,
    Upload,
    WorkloadName,
    argument,
    client_of,
    directory_of,
    option,
    ship,
    with_image,
)
from headgate.cli.output import RunOutput, say
from headgate.cli.units import seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.pods import OWN_FAILURE, SIGNALLED, PodLogStream, exit_code_of

LOOK_SECONDS = 5.0

Object = dict[str, Any]


def run(
    ctx: typer.Context,
    *,
    command: Annotated[list[str], argument("COMMAND", "Command and arguments, after --")],
    queue: LocalQueue = DEFAULT_QUEUE,
    name: Annotated[str, option("NAME", "Name (generated if omitted)", "--name")] = "",
    pods: Annotated[int, option("NUMBER", "Number of pods", min=1)] = 1,
    cpu: Annotated[str, option("QUANTITY", "CPU per pod, e.g. 500m, 4")] = "",
    memory: Annotated[str, option("QUANTITY", "Memory per pod, e.g. 4Gi")] = "",
    gpu: Annotated[int, option("NUMBER", "GPUs per pod (nvidia.com/gpu)", min=0)] = 0,
    request: OtherRequests = [],  # noqa: B006 - Typer copies it
    env: Environment = [],  # noqa: B006
    chdir: Annotated[
        str, option("DIRECTORY", "Working directory on the hosts (default: the current one)")
    ] = "",
    upload: Upload = None,
    image: Annotated[str, option("NAME", "Image of the pods (agents with podman)")] = "",
    priority_class: Annotated[str, option("NAME", "WorkloadPriorityClass")] = "",
    required_topology: Annotated[str, option("LEVEL", "Required topology level, e.g. rack")] = "",
    preferred_topology: Annotated[str, option("LEVEL", "Preferred topology level")] = "",
    time_limit: Annotated[
        str, option("DURATION", "Maximum execution time, e.g. 2h", "--time", "-t", "--deadline")
    ] = "",
    retries: Retries = None,
    retry_delay: RetryDelay = "",
    completions: Completions = None,
    parallelism: Parallelism = None,
    pty: Annotated[bool, typer.Option("--pty", help="One pod with this terminal")] = False,
    namespace: Namespace = DEFAULT_NAMESPACE,
) -> None:
    """Run a command in pods and show its output (exits with its code).

    Ctrl-C cancels, a second one kills. Failures of the run itself exit with 125, signals with 128
    and their number, and a run that is out of time with 124.
    Example: `headgate run --gpu 1 --pods 4 -- python train.py`
    """
    options = WorkloadOptions(
        name=name or generated_name(command[0]),
        namespace=namespace,
        queue=queue,
        requests=requests_of(cpu, memory, gpu, request),
        pods=pods,
        priority_class=priority_class,
        topology=topology_of(required_topology, preferred_topology, unconstrained=False),
        maximum_execution_seconds=int(seconds_of(time_limit)) if time_limit else None,
        repetition=repetition_of("", retries, retry_delay, completions, parallelism),
    )
    if pty and (pods > 1 or not is_terminal()):
        reason = "one pod has the terminal" if pods > 1 else "stdin and stdout are no terminal"
        raise CommandFailed(f"--pty: {reason}", code=ExitCode.USAGE)
    directory = directory_of(upload, chdir, image)
    given = ["sh", "-c", AWAIT_SESSION] if pty else command
    manifest = with_image(with_command(manifest_of(options), given, pairs(env), directory), image)
    try:
        with client_of(ctx) as client:
            ship(client, manifest, upload)
            code = _run_interactively(client, manifest, command) if pty else _run(client, manifest)
    except Failure as failure:
        exit_for(failure)
        code = OWN_FAILURE
    raise typer.Exit(code)


def logs(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it ends")] = False,
    pod: Annotated[
        list[str], option("RANK", "Only these pods, by rank or as main/0 (repeatable)")
    ] = [],  # noqa: B006 - Typer copies it
    attempt: Annotated[int, option("NUMBER", "Attempt (default: the newest)", min=0)] = 0,
    run: Annotated[int, option("NUMBER", "Run (default: the newest of each pod)", min=0)] = 0,
    tail: Annotated[int, option("LINES", "Only the last lines of each pod", min=-1)] = -1,
    since: Annotated[str, option("DURATION", "Only the last 30s, 5m, 1h30m")] = "",
    stream: Annotated[str, option("NAME", "Only stdout or stderr")] = "",
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Show times")] = False,
    namespace: Namespace = DEFAULT_NAMESPACE,
) -> None:
    """Show the output of a workload's pods; of several, each line with its rank."""
    place, name = workload_key(workload, namespace)
    asked = {
        "pod": ",".join(pod),
        "attempt": str(attempt or ""),
        "run": str(run or ""),
        "tail": "" if tail < 0 else str(tail),
        "since": str(int(seconds_of(since))) if since else "",
        "stream": stream,
    }
    with client_of(ctx) as client:
        found = client.read(WORKLOAD.path(place, name))
        count = _pod_count(found)
        query = {key: value for key, value in asked.items() if value}
        source = PodLogStream(client.connection, place, name, query)
        output = RunOutput(source, is_prefixed=(len(pod) or count) > 1, with_times=timestamps)
        try:
            outputs = iter(source.follow() if follow else source.read())
            first = next(outputs, None)
            if first is None:
                is_over = follow or found["status"]["phase"] in FINISHED
                say("No output" if is_over else "No output yet")
            else:
                output.show(chain((first,), outputs))
        finally:
            source.close()


def _submitted(client: HeadgateClient, manifest: Object) -> bool:
    batch = client.submit_batch([manifest], key=unique_key())
    (result,) = batch.results
    if result.outcome == "rejected":
        tell_problem(problem_in(result.problem), result.reference)
    return result.outcome != "rejected"


AWAIT_SESSION = """
mkfifo "$HEADGATE_SCRATCH/end" && read -r code < "$HEADGATE_SCRATCH/end"
exit "${code:-129}"
"""
"""What a pod does beside its session: it ends with the code that the session tells it."""
IN_SESSION = """
until [ -p "$HEADGATE_SCRATCH/end" ]; do sleep 0.05; done
trap 'echo 129 > "$HEADGATE_SCRATCH/end"; exit 129' HUP
"$@"
code=$?
echo "$code" > "$HEADGATE_SCRATCH/end"
exit "$code"
"""
NOT_TOLD_TO_THE_POD = frozenset({OWN_FAILURE, 126})
"""Codes of a session that was lost or that never began: its pod still waits."""


def _run_interactively(client: HeadgateClient, manifest: Object, command: list[str]) -> int:
    """Returns the code of a command that has this terminal; its pod ends with it."""
    if not _submitted(client, manifest):
        return OWN_FAILURE
    metadata = manifest["metadata"]
    namespace, name = str(metadata["namespace"]), str(metadata["name"])
    session = RunSession(client, namespace, name)
    with session.interruptible():
        if session.wait_for({"Running"}) != "Running":
            return session.wait()
    path = WORKLOAD.path(namespace, name)
    words = ["sh", "-c", IN_SESSION, "sh", *command]
    try:
        code = run_session(client, path, "0", words, has_terminal=True)
    except Failure:
        client.act(f"{path}/cancel", {"reason": "no session", "force": True})
        raise
    if code in NOT_TOLD_TO_THE_POD:
        client.act(f"{path}/cancel", {"reason": "session lost", "force": True})
        return code
    return session.wait()


def _run(client: HeadgateClient, manifest: Object) -> int:
    if not _submitted(client, manifest):
        return OWN_FAILURE
    metadata = manifest["metadata"]
    namespace, name = str(metadata["namespace"]), str(metadata["name"])
    session = RunSession(client, namespace, name)
    output = RunOutput(
        PodLogStream(client.connection, namespace, name),
        is_prefixed=_pod_count(manifest) > 1,
    )
    with session.interruptible(), output.shown():
        code = session.wait()
    if code:
        session.tell_failed_pods(with_last_lines=_pod_count(manifest) > 1)
    return code


def _pod_count(manifest: Object) -> int:
    """Returns how many pods a workload runs, one after another included."""
    return sum(each.get("completions", each["count"]) for each in manifest["spec"]["podSets"])


class _Interrupted(Exception):
    """Ctrl-C while nothing but waiting went on."""


class RunSession:
    """One workload from its submission to its exit code."""

    def __init__(self, client: HeadgateClient, namespace: str, name: str) -> None:
        self._client = client
        self._key = f"{namespace}/{name}"
        self._path = WORKLOAD.path(namespace, name)
        self._told = ""
        self._interrupts = 0
        self._obeyed = 0
        self._is_waiting = False

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Counts Ctrl-C and SIGTERM; only waiting for the next event ends at once."""

        def interrupt(_number: int, _frame: object) -> None:
            self._interrupts += 1
            if self._is_waiting:
                raise _Interrupted

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait(self) -> int:
        """Returns the exit code of the workload once it has finished."""
        phase = self.wait_for({*FINISHED, "Inactive"})
        found = self._client.read(self._path)
        if phase == "Inactive":
            say(f"{self._key}: inactive{_because(found['status'], 'Requeued')}")
        if phase == "Cancelled" and self._interrupts:
            return SIGNALLED + signal.SIGINT
        return exit_code_of(self._client, found)

    def tell_failed_pods(self, *, with_last_lines: bool) -> None:
        """Says which pods failed first, with the first error line of each."""
        explanation = self._client.read(f"{self._path}/explanation", {"history": "0"})
        text = failed_pods(explanation, with_last_lines=with_last_lines)
        if text:
            say(text)

    def wait_for(self, phases: Collection[str]) -> str:
        """Returns the phase of the workload once it is one of these, or has finished."""
        events = self._events()
        while True:
            found = self._client.read(self._path)
            phase = phase_of(found)
            self._tell_state(found, phase)
            if phase in phases or phase in FINISHED:
                return phase
            self._obey_interrupts()
            try:
                self._is_waiting = self._obeyed == self._interrupts
                next(events)
            except _Interrupted:
                events = self._events()
            finally:
                self._is_waiting = False

    def _events(self) -> Iterator[object]:
        """Returns the events of the workload from now on, with a heartbeat every few seconds."""
        streams = (f"workload/{self._key}",)
        after = self._client.head()
        return self._client.follow(after, streams=streams, quiet_seconds=LOOK_SECONDS)

    def _tell_state(self, found: Object, phase: str) -> None:
        """Says why the workload is pending, and where it was admitted, once for each change."""
        status = found["status"]
        line = f"{self._key}: {phase.lower()}"
        if phase == "Pending":
            explanation = self._client.read(f"{self._path}/explanation", {"history": "0"})
            # It may have been admitted since: then the sentence is no reason of a pending workload.
            if explanation["phase"] != phase:
                return
            line = f"{line}: {explanation['sentence']}"
        if line != self._told and phase not in FINISHED:
            self._told = line
            say(line)
        elif phase in FINISHED and phase != "Succeeded":
            say(f"{self._key}: {phase.lower()}{_because(status)}")

    def _obey_interrupts(self) -> None:
        while self._obeyed < self._interrupts:
            self._obeyed += 1
            if self._obeyed == 1:
                say(f"{self._key}: cancelling; Ctrl-C again to kill")
                self._client.act(f"{self._path}/cancel", {"reason": "interrupted"})
            else:
                say(f"{self._key}: killing")
                body = {"reason": "interrupted again", "force": True}
                self._client.act(f"{self._path}/cancel", body)


def _because(status: Object, kind: str = "Finished") -> str:
    for condition in status.get("conditions", []):
        if condition["type"] == kind and condition.get("message"):
            return f": {condition['message']}"
    return ""
