"""The client for programs of users: submit, wait, stream, logs, explain and simulate, typed.

`Headgate` is for plain programs, `AsyncHeadgate` for those with an event loop; both find the server
as the command line does.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds
from headgate.client.client import HeadgateClient, Object
from headgate.client.contexts import find_connection
from headgate.client.pods import (
    CommandEnd,
    PodLogStream,
    PodOutput,
    PodView,
    SessionConnection,
    begin_in_pod,
    end_of_command,
    exit_code_of,
    passed_on,
)
from headgate.client.schemas import FINISHED, Event, SimulationResult, WorkloadView, view_of
from headgate.client.transport import Connection, ServerProblem

WORKLOAD_API_VERSION = "kueue.x-k8s.io/v1beta2"
QUIET_SECONDS = 5.0
"""How long a wait hears nothing before it looks at its deadline."""

Goal = Literal["Admitted", "Running", "Finished"]
GOAL_PHASES: Mapping[Goal, frozenset[str]] = {
    "Admitted": frozenset({"Admitted", "Starting", "Running", *FINISHED}),
    "Running": frozenset({"Running", *FINISHED}),
    "Finished": FINISHED,
}
Found = TypeVar("Found")


class EndedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that was run to its end, and its exit code as `headgate run` has it."""

    workload: WorkloadView
    exit_code: int


class WaitTimeout(Exception):
    """A workload has not reached its goal in time; `workload` is what was seen last."""

    def __init__(self, workload: WorkloadView, goal: Goal) -> None:
        super().__init__(f"{workload.namespace}/{workload.name} is {workload.phase}, not {goal}")
        self.workload = workload


def local_connection() -> Connection:
    """Returns the connection that the command line would use in this folder.

    That of `HEADGATE_URL` and `HEADGATE_TOKEN`, of the user's file, or of a running `headgate up`.
    """
    return find_connection(
        environment=(os.environ.get("HEADGATE_URL", ""), os.environ.get("HEADGATE_TOKEN", "")),
        cacert=os.environ.get("HEADGATE_CACERT", ""),
        home=Path.home(),
        directory=Path(os.environ.get("HEADGATE_DIRECTORY", ".headgate")),
    )


def manifest_of(  # noqa: PLR0913 - each is a field of a workload
    command: Sequence[str],
    *,
    queue: str = "default",
    namespace: str = "default",
    name: str = "",
    pods: int = 1,
    requests: Mapping[str, str | int] | None = None,
    environment: Mapping[str, str] | None = None,
    directory: str = "",
    labels: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - the shapes are the API's
) -> Object:
    """Returns a Workload of equal pods that run a command; `spec` has further fields of its spec.

    Without a name it is generated from the program's.
    """
    container: Object = {
        "name": "main",
        "command": list(command),
        "env": [{"name": key, "value": value} for key, value in (environment or {}).items()],
        "resources": {"requests": {key: str(value) for key, value in (requests or {}).items()}},
    }
    if directory:
        container["workingDir"] = directory
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    pod_set = {"name": "main", "count": pods, "template": template}
    generated = Path(command[0]).name.lower().replace("_", "-").replace(".", "-")
    named = {"name": name} if name else {"generateName": f"{generated}-"}
    return {
        "apiVersion": WORKLOAD_API_VERSION,
        "kind": "Workload",
        "metadata": {**named, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"queueName": queue, "podSets": [pod_set], **spec},
    }


class Headgate:
    """A connection to one Headgate; safe to use from one thread at a time, closed by `with`."""

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or local_connection()
        self.client = HeadgateClient(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.client.close()

    def submit(self, manifest: Object) -> WorkloadView:
        """Submits a workload. Raises `ServerProblem` with the remedy where it is refused."""
        path = f"/v1/namespaces/{manifest['metadata']['namespace']}/workloads"
        return view_of(self.client.act(path, manifest))

    def get(self, namespace: str, name: str) -> WorkloadView:
        """Returns a workload as it is now."""
        return view_of(self.client.read(_path(namespace, name)))

    def list(self, namespace: str = "", **query: str) -> Iterator[WorkloadView]:
        """Returns workloads page by page; `query` has the parameters of `GET /v1/workloads`."""
        path = f"/v1/namespaces/{namespace}/workloads" if namespace else "/v1/workloads"
        return (view_of(found) for found in self.client.items(path, query))

    def explain(self, namespace: str, name: str) -> Object:
        """Returns the pending reason with all blockers, as `headgate why` shows it."""
        found: Object = self.client.read(f"{_path(namespace, name)}/explanation")
        return found

    def act(self, namespace: str, name: str, verb: str, reason: str = "") -> WorkloadView:
        """Holds, releases, requeues, cancels, activates or deactivates a workload, by `verb`."""
        self.client.act(f"{_path(namespace, name)}/{verb}", {"reason": reason})
        return self.get(namespace, name)

    def wait(
        self, namespace: str, name: str, goal: Goal = "Finished", timeout_seconds: float = 600.0
    ) -> WorkloadView:
        """Returns a workload once it has reached the goal or is finished. Raises `WaitTimeout`."""
        give_up_at = elapsed_seconds() + timeout_seconds
        for found in _seen(self, namespace, name):
            if found.phase in GOAL_PHASES[goal]:
                return found
            if elapsed_seconds() > give_up_at:
                raise WaitTimeout(found, goal)
        raise AssertionError("the stream of events has no end")

    def run(
        self, manifest: Object, on_output: Callable[[PodOutput], object] | None = None
    ) -> EndedRun:
        """Submits a workload and returns once it has ended, or its execution time is over.

        `on_output` is called with the output of its pods, in a thread; a failure of either is
        raised once the workload has ended. An interrupt cancels it.
        """
        begun = self.submit(manifest)
        try:
            return end_of(self, begun, on_output)
        except KeyboardInterrupt:
            cancel_interrupted(self, begun)
            raise

    def pods(self, namespace: str, name: str, **query: str) -> Iterator[PodView]:
        """Returns the pods of the newest attempt; `query` has the parameters of `GET …/pods`."""
        found = self.client.items(f"{_path(namespace, name)}/pods", query)
        return (msgspec.convert(each, PodView) for each in found)

    def exec(
        self,
        namespace: str,
        name: str,
        command: Sequence[str],
        *,
        pod: str = "0",
        content: bytes = b"",
    ) -> CommandEnd:
        """Runs a command in a running pod, by rank or as `main/0`, with `content` as its input.

        Raises `SessionLost` where its end is not known.
        """
        remote = begin_in_pod(self.client, _path(namespace, name), pod, command)
        return end_of_command(remote, content)

    def stream(self, after: int | None = None, *, streams: tuple[str, ...] = ()) -> Iterator[Event]:
        """Returns events after a position (by default: from now on) as they come, without end."""
        begin = self.client.head() if after is None else after
        heard = self.client.follow(begin, streams=streams, quiet_seconds=QUIET_SECONDS)
        return (event for event in heard if isinstance(event, Event))

    def logs(
        self, namespace: str, name: str, *, follow: bool = False, **query: str
    ) -> Iterator[PodOutput]:
        """Returns output of the pods; with `follow` until the workload has ended."""
        output = PodLogStream(self.connection, namespace, name, query)
        try:
            yield from output.follow() if follow else output.read()
        finally:
            output.close()

    def simulate(self, *manifests: Object, **query: str) -> SimulationResult:
        """Returns what would happen if these manifests were applied; nothing is written."""
        documents = b"\n---\n".join(msgspec.json.encode(each) for each in manifests)
        return msgspec.convert(self.client.simulate(documents, query), SimulationResult)


class AsyncHeadgate:
    """`Headgate` for an event loop: each request runs in a thread, one after the other.

    Each iteration of `stream` and `logs` has a connection and a thread of its own.
    """

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or local_connection()
        self._thread = ThreadPoolExecutor(1, "headgate-client")
        self._headgate = self._open()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_details: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; a request that runs fails."""
        self._headgate.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def submit(self, manifest: Object) -> WorkloadView:
        """As `Headgate.submit`."""
        return await self._do(partial(self._headgate.submit, manifest))

    async def get(self, namespace: str, name: str) -> WorkloadView:
        """As `Headgate.get`."""
        return await self._do(partial(self._headgate.get, namespace, name))

    async def explain(self, namespace: str, name: str) -> Object:
        """As `Headgate.explain`."""
        return await self._do(partial(self._headgate.explain, namespace, name))

    async def act(self, namespace: str, name: str, verb: str, reason: str = "") -> WorkloadView:
        """As `Headgate.act`."""
        return await self._do(partial(self._headgate.act, namespace, name, verb, reason))

    async def simulate(self, *manifests: Object, **query: str) -> SimulationResult:
        """As `Headgate.simulate`."""
        return await self._do(partial(self._headgate.simulate, *manifests, **query))

    async def wait(
        self, namespace: str, name: str, goal: Goal = "Finished", timeout_seconds: float = 600.0
    ) -> WorkloadView:
        """As `Headgate.wait`; other requests go on meanwhile."""
        return await self._once(lambda own: own.wait(namespace, name, goal, timeout_seconds))

    async def run(
        self, manifest: Object, on_output: Callable[[PodOutput], object] | None = None
    ) -> EndedRun:
        """As `Headgate.run`; other requests go on meanwhile. A cancelled task cancels it."""
        begin = partial(self._headgate.submit, manifest)
        cancel = partial(cancel_interrupted, self._headgate)
        async with self._undone_if_cancelled(begin, cancel) as begun:
            return await self._once(lambda own: end_of(own, begun, on_output))

    async def exec(
        self,
        namespace: str,
        name: str,
        command: Sequence[str],
        *,
        pod: str = "0",
        content: bytes = b"",
    ) -> CommandEnd:
        """As `Headgate.exec`; other requests go on meanwhile. A cancelled task ends the command."""
        path = _path(namespace, name)
        begin = partial(begin_in_pod, self._headgate.client, path, pod, command)
        async with self._undone_if_cancelled(begin, SessionConnection.close) as remote:
            return await self._once(lambda _: end_of_command(remote, content))

    def pods(self, namespace: str, name: str, **query: str) -> AsyncIterator[PodView]:
        """As `Headgate.pods`."""
        return self._each(lambda own: own.pods(namespace, name, **query))

    def list(self, namespace: str = "", **query: str) -> AsyncIterator[WorkloadView]:
        """As `Headgate.list`."""
        return self._each(lambda own: own.list(namespace, **query))

    def stream(
        self, after: int | None = None, *, streams: tuple[str, ...] = ()
    ) -> AsyncIterator[Event]:
        """As `Headgate.stream`."""
        return self._each(lambda own: own.stream(after, streams=streams))

    def logs(
        self, namespace: str, name: str, *, follow: bool = False, **query: str
    ) -> AsyncIterator[PodOutput]:
        """As `Headgate.logs`."""
        return self._each(lambda own: own.logs(namespace, name, follow=follow, **query))

    def _open(self) -> Headgate:
        return Headgate(self.connection)

    async def _do(self, work: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @asynccontextmanager
    async def _undone_if_cancelled(
        self, begin: Callable[[], Found], undo: Callable[[Found], object]
    ) -> AsyncGenerator[Found, None]:
        """What a request has begun; it is undone where the task is cancelled, also meanwhile."""
        beginning = asyncio.ensure_future(self._do(begin))
        try:
            yield await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await self._do(partial(undo, await beginning))
            raise

    async def _once(self, work: Callable[[Headgate], Found]) -> Found:
        """What the work of another connection returns, done in a thread of its own."""

        def only(own: Headgate) -> Iterator[Found]:
            yield work(own)

        waiting = self._each(only)
        try:
            return await anext(waiting)
        finally:
            await waiting.aclose()

    async def _each(
        self, begin: Callable[[Headgate], Iterator[Found]]
    ) -> AsyncGenerator[Found, None]:
        """What an iterator of another connection gives, each taken in a thread of its own."""
        loop = asyncio.get_running_loop()
        own, thread = self._open(), ThreadPoolExecutor(1, "headgate-client")
        try:
            found = begin(own)
            while (item := await loop.run_in_executor(thread, next, found, None)) is not None:
                yield item
        finally:
            own.close()
            thread.shutdown(wait=False, cancel_futures=True)


def end_of(
    headgate: Headgate, begun: WorkloadView, on_output: Callable[[PodOutput], object] | None
) -> EndedRun:
    """Returns a workload once it runs no more, and all output was passed on."""
    namespace, name = begun.namespace, begun.name
    with ExitStack() as passing:
        if on_output is not None:
            output = PodLogStream(headgate.connection, namespace, name)
            passing.enter_context(passed_on(output, on_output))
        seen = _seen(headgate, namespace, name)
        ended = next(each for each in seen if each.phase in {*FINISHED, "Inactive"})
    return EndedRun(workload=ended, exit_code=exit_code_of(headgate.client, ended.manifest))


def cancel_interrupted(headgate: Headgate, begun: WorkloadView) -> None:
    """Cancels a workload of which the run was interrupted, unless it has ended meanwhile."""
    try:
        headgate.act(begun.namespace, begun.name, "cancel", "interrupted")
    except ServerProblem as refused:
        if refused.problem.code != "WorkloadHasEnded":
            raise


def _seen(headgate: Headgate, namespace: str, name: str) -> Iterator[WorkloadView]:
    """Returns a workload as it is now, after each of its events, and every few seconds."""
    found = headgate.get(namespace, name)
    yield found
    streams = (f"workload/{namespace}/{name}",)
    heard = headgate.client.follow(found.position, streams=streams, quiet_seconds=QUIET_SECONDS)
    yield from (headgate.get(namespace, name) for _ in heard)


def _path(namespace: str, name: str) -> str:
    return f"/v1/namespaces/{namespace}/workloads/{name}"
