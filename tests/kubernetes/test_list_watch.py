"""Lists and watches over connections that break, and versions that the server no longer has."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import msgspec
import pytest

from headgate.executor.assignments import AssignedPod, Assignment
from headgate.executor.core import ExecutorCore, RunAnswer
from headgate.executor.reconcile import RunReport
from headgate.executor.substrates.kubernetes import list_watch
from headgate.executor.substrates.kubernetes.api_server import ApiServer, Refused
from headgate.executor.substrates.kubernetes.list_watch import Collection, Store
from tests.executors.pods import assignment_of, eventually, key_of
from tests.kubernetes.api_double import ApiDouble
from tests.kubernetes.builders import cluster_of, podded
from tests.kubernetes.kubelet import Cluster

PODS_A_ROUND = 2
WATCHES = 4
"""Of pods, nodes, namespaces and Jobs; the double has no JobSets."""


def of_index(given: Assignment, indices: range) -> Assignment:
    """The assignment with pods of these indices alone, as those before have ended."""
    (pod_set,) = given.pod_sets
    pods = tuple(
        AssignedPod(index=each, rank=each, run=1, node=f"host-{each % 2 + 1}") for each in indices
    )
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


class Storm:
    """Pods that come and go while every watch is broken, each time in another way."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self.api = cluster, cluster.api
        self.substrate = cluster_of(cluster, directory)
        self.core = ExecutorCore(
            self.substrate, directory / "core", now=lambda: 0, say=lambda _line: None
        )
        self.reports: list[RunReport] = []
        self.template = podded(lasts=True)

    def round(self, number: int) -> None:
        first = number * PODS_A_ROUND
        kept = range(max(0, first - 3 * PODS_A_ROUND), first + PODS_A_ROUND)
        given = of_index(assignment_of(self.template, world_size=None, hosts=()), kept)
        self.core.replace_assignments(number + 1, "log-1", [given])
        self.step()
        self.cluster.create_pod(f"other-{number}", node_name="host-1", cpu="1m")
        if number % 2:
            self.api.cut_watches()
        else:
            self.api.expire_watches()
        if number >= 3:
            gone = ("pods", "default", f"other-{number - 3}")
            self.api.do(lambda: self.api.delete(gone, 0))
        if number % 5 == 0:
            self.api.has_expired_page, self.api.page = True, 3
        self.step()
        eventually(lambda: len(self.api.watches) == WATCHES or None)

    def step(self) -> None:
        self.core.step()
        found = self.core.unanswered(1000)
        self.reports += found
        self.core.take_answers([RunAnswer(report=each, accepted=True) for each in found])

    def settle(self, started: int) -> None:
        """Until the executor has told of every pod and knows what the server has."""

        def is_told() -> bool:
            self.step()
            told = Counter(each.type for each in self.reports)
            return told["ready"] == started and self.known() == self.there()

        eventually(is_told, self.substrate)

    def known(self) -> set[str]:
        store = self.substrate.pods
        return store.keys()

    def there(self) -> set[str]:
        objects = self.api.store.objects
        return self.api.do(lambda: {f"{key[1]}/{key[2]}" for key in objects if key[0] == "pods"})


@pytest.mark.parametrize("interruptions", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_no_pod_is_lost_or_doubled_by_interruptions_under_churn(
    api: ApiDouble,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interruptions: int,
) -> None:
    monkeypatch.setattr(list_watch, "FIRST_PAUSE_SECONDS", 0.005)
    storm = Storm(cluster, tmp_path)
    for number in range(interruptions):
        storm.round(number)
    pods = interruptions * PODS_A_ROUND
    storm.settle(pods)
    storm.core.close()
    storm.substrate.close()
    told = Counter((each.type, each.index) for each in storm.reports)
    lost = [each for each in storm.reports if each.reason == "NodeLost"]
    doubled = [name for name, count in cluster.starts.items() if count > 1]
    assert api.cuts >= interruptions * WATCHES
    assert api.expirations >= interruptions // 2
    assert (lost, doubled) == ([], [])
    assert max(told.values()) == 1
    assert {index for kind, index in told if kind == "ready"} == set(range(pods))
    assert all(cluster.starts[key_of(index).name] == 1 for index in range(pods))


def stored(*versions: tuple[str, int]) -> list[msgspec.Raw]:
    return [msgspec.Raw(msgspec.json.encode(each)) for each in versions]


def read(content: bytes) -> tuple[str, str, int]:
    key, version = msgspec.json.decode(content)
    return key, str(version), version


def test_an_object_that_a_request_returned_is_not_undone_by_an_older_list() -> None:
    store: Store[int] = Store(read, lambda: None)
    store.replace(stored(("a", 3), ("b", 4)), "5")
    store.put(msgspec.json.encode(("c", 7)))
    store.replace(stored(("a", 3)), "6")
    assert store.take_changes() == {"a": 3, "b": None, "c": 7}


def test_an_object_that_the_watch_is_past_is_not_put_back() -> None:
    store: Store[int] = Store(read, lambda: None)
    store.replace(stored(("a", 3)), "5")
    store.apply("DELETED", msgspec.json.encode(("a", 8)))
    store.put(msgspec.json.encode(("a", 6)))
    assert store.find("a") is None


class QuietServer:
    """Watches of this server end as many seconds after their begin as it is told."""

    retry_at = 0.0

    def __init__(self, clock: list[float], lasts: float, refusal: int = 0) -> None:
        self._clock, self._lasts, self._refusal = clock, lasts, refusal

    async def get(self, _path: str, _params: dict[str, str]) -> bytes:
        if self._refusal:
            raise Refused(self._refusal, "", "")
        return b'{"metadata":{"resourceVersion":"7"},"items":null}'

    @contextlib.asynccontextmanager
    async def stream(self, *_asked: object, **_how: object) -> AsyncIterator[AsyncIterator[bytes]]:
        self._clock[0] += self._lasts

        yield _nothing()


async def _nothing() -> AsyncIterator[bytes]:
    lines: list[bytes] = []
    for line in lines:
        yield line


@pytest.mark.parametrize(
    ("lasts", "refusal", "pauses"),
    [(240.0, 0, [0.2, 0.2, 0.2]), (0.0, 0, [0.2, 0.4, 0.8]), (0.0, 404, [300.0, 300.0, 300.0])],
)
def test_a_collection_pauses_longer_only_where_its_watches_do_not_last(
    monkeypatch: pytest.MonkeyPatch, lasts: float, refusal: int, pauses: list[float]
) -> None:
    """Where nothing changes a watch ends all the same; a missing operator may come later."""
    clock, paused = [0.0], []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == len(pauses):
            raise asyncio.CancelledError

    monkeypatch.setattr(list_watch, "elapsed_seconds", lambda: clock[0])
    monkeypatch.setattr(asyncio, "sleep", sleep)
    store: Store[int] = Store(read, lambda: None)
    server = cast("ApiServer", QuietServer(clock, lasts, refusal))
    collection = Collection(server, "/apis", store, is_optional=True)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(collection.follow())
    assert paused == pauses
    assert store.is_complete.is_set()
