"""What an executor tells the server: reports, progress, orphans, and the output of its pods.

Output is sent once: offsets that the server has taken stand in a file. It is written now and then;
what is sent twice is not kept twice.
"""

import contextlib
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headgate.client.executors import ExecutorClient, RunOutcome
from headgate.domain.values.quantities import Requests, added, amount_of
from headgate.executor.core import EvictionProgress, RunAnswer, orphan_id
from headgate.executor.reconcile import RunReport, rfc3339
from headgate.executor.substrate import NodeDescription, Object, ObservedRun, OutputChunk, RunKey

PODS = "pods"
MAX_ORPHANS = 1_000
"""The server takes no more."""


class ToldProgress(msgspec.Struct, frozen=True):
    """Progress of evictions that the server knows."""

    told: tuple[EvictionProgress, ...]


def send_progress(client: ExecutorClient, progress: tuple[EvictionProgress, ...]) -> ToldProgress:
    """Sends progress of evictions, and returns what was sent."""
    client.report_progress(
        [
            {
                "type": "progressed",
                "workload": each.workload,
                "uid": each.uid,
                "attempt": each.attempt,
                "eviction": each.eviction,
                "message": each.message,
            }
            for each in progress
        ]
    )
    return ToldProgress(progress)


def send_reports(client: ExecutorClient, reports: list[RunReport]) -> list[RunAnswer]:
    """Sends reports, and returns the answer to each."""
    outcomes = client.report(reports)
    return [
        RunAnswer(
            report=report, accepted=outcome.accepted, code=outcome.code, detail=outcome.detail
        )
        for report, outcome in zip(reports, outcomes, strict=True)
    ]


def orphan_objects(runs: Sequence[ObservedRun]) -> list[Object]:
    """Returns orphaned pods as they are reported; the first ones where there are too many."""
    return [
        {
            "id": orphan_id(run.key.name),
            "workload": run.key.workload,
            "uid": run.key.uid,
            "podSet": run.key.pod_set,
            "index": run.key.index,
            "attempt": run.key.attempt,
            "run": run.key.run,
            "node": run.node,
            "startedAt": rfc3339(run.started_at),
        }
        for run in runs[:MAX_ORPHANS]
    ]


def with_use_by_orphans(
    nodes: Sequence[NodeDescription], runs: Sequence[ObservedRun]
) -> list[NodeDescription]:
    """Returns the nodes with what orphaned pods use there, so that it is given to no other pod.

    It is added to what the substrate tells of others.
    """
    used = {node.name: _amounts(node.used_by_others or {}) for node in nodes}
    for run in runs:
        if run.node in used:
            used[run.node] = added(used[run.node], {**run.requests, PODS: 1})
    return [
        msgspec.structs.replace(node, used_by_others=quantities_of(used[node.name]))
        for node in nodes
    ]


def _amounts(quantities: dict[str, str]) -> Requests:
    return {resource: amount_of(resource, quantity) for resource, quantity in quantities.items()}


def quantities_of(amounts: Requests) -> dict[str, str]:
    """Returns amounts as Kubernetes quantities."""
    return {
        resource: f"{amount}m" if resource == "cpu" else str(amount)
        for resource, amount in amounts.items()
    }


STREAMS = ("stdout", "stderr")
CHUNK_BYTES = 64 << 10
BATCH_BYTES = 1 << 20
SEND_SECONDS = 1.0

Read = Callable[[RunKey, str, int, int], OutputChunk]


class SentOutput(msgspec.Struct, kw_only=True):
    """What the server has of one run: the next offset by stream, and whether that is all."""

    offsets: dict[str, int] = {}
    is_done: bool = False


class LogSender:
    """Runs in a thread of its own; other threads give it runs and ask what is done."""

    def __init__(self, read: Read, path: Path) -> None:
        self._read = read
        self._path = path
        self._lock = threading.Lock()
        self._has_news = threading.Event()
        self._runs: dict[str, ObservedRun] = {}
        self._sent = _read_sent(path)
        self._turn = 0

    def observe(self, runs: Mapping[str, ObservedRun]) -> None:
        """Takes over the present runs; output of a run that has ended is sent at once."""
        with self._lock:
            ended = {name for name, run in runs.items() if run.state == "Ended"}
            has_ended = any(self._runs.get(name) != runs[name] for name in ended)
            self._runs = dict(runs)
            self._sent = {name: sent for name, sent in self._sent.items() if name in runs}
        if has_ended:
            self._has_news.set()

    def is_done(self, key: RunKey) -> bool:
        """Whether the server has all output of a run."""
        with self._lock:
            sent = self._sent.get(key.name)
            return sent is not None and sent.is_done

    def wake(self) -> None:
        """Ends the pause between two requests."""
        self._has_news.set()

    def run(
        self, client: ExecutorClient, stopping: threading.Event, done: Callable[[], None]
    ) -> None:
        """Sends output until stopped; `done` is called where a run was sent to its end."""
        while not stopping.is_set():
            self._has_news.wait(SEND_SECONDS)
            self._has_news.clear()
            while not stopping.is_set() and self._send_batch(client, done):
                pass

    def _send_batch(self, client: ExecutorClient, done: Callable[[], None]) -> bool:
        """Returns whether there was anything to send."""
        with self._lock:
            runs = [
                (run, self._sent.setdefault(name, SentOutput()))
                for name, run in self._runs.items()
                if run.state != "Starting"
            ]
        # Each request begins with another run, so that one with much output delays no other.
        self._turn = (self._turn + 1) % max(1, len(runs))
        runs = runs[self._turn :] + runs[: self._turn]
        batch: list[tuple[str, OutputChunk | None, Object]] = []
        size = 0
        for run, sent in runs:
            if size >= BATCH_BYTES:
                break
            for chunk in [] if sent.is_done else self._chunks_of(run, sent):
                batch.append(chunk)
                size += len(chunk[2]["content"])
        if not batch:
            return False
        outcomes = client.send_logs([content for _, _, content in batch])
        is_final = [
            self._take(name, chunk, content, outcome)
            for (name, chunk, content), outcome in zip(batch, outcomes, strict=True)
        ]
        self._write()
        if any(is_final):
            done()
        return True

    def _chunks_of(
        self, run: ObservedRun, sent: SentOutput
    ) -> list[tuple[str, OutputChunk | None, Object]]:
        """Returns the next chunk of each stream, or the note that there is no more."""
        found: list[tuple[str, OutputChunk | None, Object]] = []
        for stream in STREAMS:
            chunk = self._read(run.key, stream, sent.offsets.get(stream, 0), CHUNK_BYTES)
            if chunk.content:
                content = b64encode(chunk.content).decode()
                told = _told(run.key, stream=stream, offset=chunk.offset, content=content)
                found.append((run.key.name, chunk, told))
        if not found and run.state == "Ended":
            found.append((run.key.name, None, _told(run.key, content="", final=True)))
        return found

    def _take(
        self, name: str, chunk: OutputChunk | None, content: Object, outcome: RunOutcome
    ) -> bool:
        """Returns whether the run is done; output that the server refuses is not sent again."""
        with self._lock:
            sent = self._sent.setdefault(name, SentOutput())
            if chunk is None or not outcome.accepted:
                sent.is_done = True
            else:
                sent.offsets[str(content["stream"])] = chunk.end
            return sent.is_done

    def _write(self) -> None:
        with self._lock:
            content = msgspec.json.encode(self._sent)
        temporary = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):  # a full disk: after a restart more is sent twice
            temporary.write_bytes(content)
            temporary.rename(self._path)


def _told(key: RunKey, **rest: Any) -> Object:  # noqa: ANN401 - fields of the request
    named: Object = msgspec.to_builtins(key)
    return {**named, **rest}


def _read_sent(path: Path) -> dict[str, SentOutput]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, SentOutput])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
