"""Output of pods, read from the API server while they run and after their end."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from headgate.executor.substrate import RunKey
from headgate.executor.substrates.kubernetes import pod_logs
from tests.executors.pods import assignment_of, eventually, key_of, output_of, own_name
from tests.kubernetes.api_double import ApiDouble
from tests.kubernetes.builders import podded
from tests.kubernetes.kubelet import Cluster
from tests.kubernetes.object_store import Object
from tests.kubernetes.test_cluster import Executor, gang_of

LOG = "GET /api/v1/namespaces/{namespace}/pods/{name}/log"


@pytest.fixture
def executor(cluster: Cluster, tmp_path: Path) -> Iterator[Executor]:
    made = Executor(cluster, tmp_path)
    yield made
    made.close()


@pytest.fixture
def live_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes each line for one that comes as it is written."""
    monkeypatch.setattr(pod_logs, "BACKLOG_SECONDS", -1.0)


def test_output_comes_from_the_server_while_the_pod_runs(
    cluster: Cluster, executor: Executor
) -> None:
    executor.assign(assignment_of(podded(lasts=True, output="first\nsecond")))
    executor.until(lambda: bool(executor.reports("ready")))
    eventually(lambda: output_of(executor.substrate, key_of()) == "first\nsecond\n")
    key = ("pods", "team-a", own_name())
    cluster.api.do(lambda: cluster.write(key, "third"))
    eventually(lambda: executor.substrate.logs(key_of(), "stdout", 13, 99).content == b"third\n")


def test_output_that_was_sent_is_not_sent_again_after_a_restart(
    cluster: Cluster, tmp_path: Path
) -> None:
    first = Executor(cluster, tmp_path)
    first.assign(assignment_of(podded(lasts=True, output="first\nsecond")))
    first.until(lambda: bool(first.reports("ready")))
    first.close()
    second = Executor(cluster, tmp_path)
    second.substrate.observe()
    rest = eventually(lambda: second.substrate.logs(key_of(), "stdout", 6, 99).content)
    second.close()
    assert rest == b"second\n"


def has_output(executor: Executor, key: RunKey, size: int) -> bool:
    """Whether so many bytes have come, asked for from the first on so that none are dropped."""
    chunk = executor.substrate.logs(key, "stdout", 0, size)
    return len(chunk.content) == size


def test_output_of_more_pods_than_are_followed_is_read_all_the_same(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_logs, "POLL_SECONDS", 0.05)
    executor = Executor(cluster, tmp_path, followed_pods=1)
    executor.assign(gang_of(podded(lasts=True, output="first"), ("host-1",) * 3))
    executor.until(lambda: len(executor.reports("ready")) == 3)
    for key in [key_of(index) for index in range(3)]:
        name = key.name
        cluster.api.do(partial(cluster.write, ("pods", "team-a", name), "second"))
        whole = len("first\nsecond\n")
        eventually(partial(has_output, executor, key, whole))
    executor.close()


def test_output_of_ended_pods_does_not_wait_for_those_that_are_followed(
    cluster: Cluster, tmp_path: Path
) -> None:
    executor = Executor(cluster, tmp_path, followed_pods=1)
    running = assignment_of(podded(lasts=True), workload="team-a/long", uid="long")
    executor.assign(running)
    executor.until(lambda: bool(executor.reports("ready")))
    executor.assign(running, assignment_of(podded(output="a line")))
    executor.until(lambda: bool(executor.reports("finished")))
    assert output_of(executor.substrate, key_of()) == "a line\n"
    executor.close()


def test_a_stream_that_ended_is_not_asked_for_again_before_the_end_of_its_pod_is_told(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    """A kubelet tells of the end of a container a while after its output has ended."""
    executor.assign(assignment_of(podded(lasts=True, output="a line")))
    executor.until(lambda: bool(executor.reports("ready")))
    eventually(lambda: output_of(executor.substrate, key_of()) == "a line\n")
    api.do(lambda: setattr(api, "outputs", lambda _key: ([], True)))
    api.do(lambda: api.store.wake(("pods", "team-a", own_name())))
    eventually(lambda: api.requests[LOG] == 1)
    for _ in range(5):
        executor.core.step()
        executor.substrate.wait(0.1)
    assert api.requests[LOG] == 1


def test_output_of_a_pod_that_ends_soon_is_read_once(
    api: ApiDouble, cluster: Cluster, tmp_path: Path
) -> None:
    executor = Executor(cluster, tmp_path, follow_after_seconds=3600.0)
    executor.assign(assignment_of(podded(output="a line")))
    executor.end()
    assert output_of(executor.substrate, key_of()) == "a line\n"
    executor.close()
    assert api.requests[LOG] == 1


@pytest.mark.parametrize(
    ("ended_at", "node_at", "reads"), [(-1, 0, 1), (1, 0, 2), (-1, -2, 2), (1, 2, 1)]
)
@pytest.mark.usefixtures("live_output")
def test_output_is_read_again_unless_its_stream_ended_after_its_container(
    cluster: Cluster, executor: Executor, ended_at: int, node_at: int, reads: int
) -> None:
    """A stream that broke before the end may lack the last lines. Times are hours from now.

    The clock of a node may be wrong, by which its lines and the end of its container are told.
    """
    api, written_at = cluster.api, datetime.now(UTC) + timedelta(hours=node_at)
    lines = [f"{written_at:%Y-%m-%dT%H:%M:%S}.000000000Z a line\n"]
    api.do(lambda: setattr(api, "outputs", lambda _key: (lines, False)))
    executor.assign(assignment_of(podded(lasts=True)))
    executor.until(lambda: bool(executor.reports("ready")))
    eventually(lambda: has_output(executor, key_of(), len("a line\n")))
    api.do(lambda: setattr(api, "outputs", lambda _key: (lines, True)))
    api.do(lambda: api.store.wake(("pods", "team-a", own_name())))
    at = f"{datetime.now(UTC) + timedelta(hours=ended_at):%Y-%m-%dT%H:%M:%SZ}"

    def end(pod: Object) -> None:
        pod["status"]["phase"] = "Succeeded"
        ended = {"terminated": {"exitCode": 0, "finishedAt": at}}
        pod["status"]["containerStatuses"] = [{"name": "main", "state": ended}]

    cluster.change(("pods", "team-a", own_name()), end)
    executor.end()
    assert output_of(executor.substrate, key_of()) == "a line\n"
    assert api.requests[LOG] == reads
