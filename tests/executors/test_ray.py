"""What the Ray executor does beyond the contract of substrates, over the double of a dashboard."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest

from headgate.cli.operations.findings import ray
from headgate.executor.assignments import AssignedPod, Assignment, Order
from headgate.executor.core import ExecutorCore
from headgate.executor.reconcile import RunReport
from headgate.executor.substrates.ray import pod
from headgate.executor.substrates.ray.cluster import RayCluster
from headgate.executor.substrates.ray.dashboard import Dashboard, RayNode, describe_node
from tests.executors.pods import assignment_of, eventually, key_of, output_of, own_uid, shell
from tests.executors.ray_double import FORK, RayDouble


@pytest.fixture
def cluster(ray_double: RayDouble, tmp_path: Path) -> Iterator[RayCluster]:
    made = ray_double.substrate(tmp_path / "ray")
    yield made
    made.close()


@pytest.fixture
def core(cluster: RayCluster, tmp_path: Path) -> Iterator[ExecutorCore]:
    made = ExecutorCore(cluster, tmp_path / "core", now=lambda: 0, say=lambda _line: None)
    yield made
    made.close()


def until(cluster: RayCluster, core: ExecutorCore, look: Callable[[], bool]) -> None:
    def step() -> bool:
        core.step()
        if look():
            return True
        cluster.wait(0.02)
        return False

    eventually(step)


def told(core: ExecutorCore, kind: str) -> list[RunReport]:
    return [each for each in core.unanswered(100) if each.type == kind]


def gang_of(script: str, hosts: tuple[str, ...]) -> Assignment:
    given = assignment_of(shell(script), pods=len(hosts), hosts=hosts)
    pods = tuple(
        AssignedPod(index=index, rank=index, run=1, node=node) for index, node in enumerate(hosts)
    )
    (pod_set,) = given.pod_sets
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


def test_a_node_is_what_ray_has_without_what_the_executor_runs() -> None:
    node = RayNode(
        id="1",
        address="10.0.0.1",
        labels={"topology-rack": "r1", "ray.io/node-id": "1", "ray.io/accelerator-type": "H100"},
        resources={"CPU": 8.0, "memory": float(4 << 30), "GPU": 2.0, "object_store_memory": 1.0},
        used={"CPU": 3.0, "memory": float(3 << 30), "GPU": 1.0},
    )
    found = describe_node("a", node, {"pool": "ray"}, {"cpu": 2000, "memory": 1 << 30})
    assert found.capacity == {
        "cpu": "8000m",
        "memory": str(4 << 30),
        "nvidia.com/gpu": "2",
        "pods": "8",
    }
    assert found.used_by_others == {"cpu": "1000m", "memory": str(2 << 30), "nvidia.com/gpu": "1"}
    labels = {"topology-rack": "r1", "ray.io/accelerator-type": "H100", "pool": "ray"}
    assert found.labels == labels


def test_ranks_of_a_gang_meet_at_an_address(cluster: RayCluster, core: ExecutorCore) -> None:
    """Names of nodes are labels; the pods find each other by addresses."""
    script = "echo $RANK $HEADGATE_NODE $MASTER_ADDR $HEADGATE_RENDEZVOUS; cat $HEADGATE_HOSTFILE"
    core.replace_assignments(5, "log-1", [gang_of(script, ("host-2", "host-1"))])
    until(cluster, core, lambda: len(told(core, "finished")) == 2)
    meeting = "127.0.0.1 127.0.0.1:20001\n127.0.0.1\n127.0.0.1\n"
    assert output_of(cluster, key_of(0)) == f"0 host-2 {meeting}"
    assert output_of(cluster, key_of(1)) == f"1 host-1 {meeting}"


def test_an_order_reaches_each_rank_and_kills_those_that_stay(
    cluster: RayCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    script = (
        f"trap 'cp $HEADGATE_EVICTION_FILE {tmp_path}/saved-$RANK; echo saved > "
        "$HEADGATE_PROGRESS_FILE; sleep 0.7; exit 0' TERM; "
        f"test $RANK = 0 || trap '' TERM; touch {tmp_path}/up-$RANK; "
        "while :; do sleep 0.02; done"
    )
    gang = gang_of(script, ("host-1", "host-2"))
    core.replace_assignments(5, "log-1", [gang])
    until(cluster, core, lambda: len(told(core, "ready")) == 2)
    until(cluster, core, lambda: len(list(tmp_path.glob("up-*"))) == 2)
    progress: list[str] = []

    def have_stopped(ranks: int) -> bool:
        progress.extend(each.message for each in core.progress())
        return len(told(core, "stopped")) == ranks

    # The deadline comes once the rank that obeys has ended, however long that took.
    for position, seconds, ranks in ((6, 600, 1), (7, 0, 2)):
        deadline = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        order = Order(id="e1", reason="Preempted", deadline=deadline)
        ordered = msgspec.structs.replace(gang, eviction=order)
        core.replace_assignments(position, "log-1", [ordered])
        until(cluster, core, partial(have_stopped, ranks))
    assert msgspec.json.decode((tmp_path / "saved-0").read_bytes())["reason"] == "Preempted"
    assert "saved" in progress
    ends = {each.index: (each.exit_code, each.signal) for each in told(core, "stopped")}
    assert ends == {0: (0, None), 1: (None, 9)}


def test_much_output_keeps_its_begin_and_its_end(
    cluster: RayCluster, core: ExecutorCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod, "SEGMENT_BYTES", 1000)
    core.max_output_bytes = 3000
    core.replace_assignments(5, "log-1", [assignment_of(shell("seq 10000"))])
    until(cluster, core, lambda: bool(told(core, "finished")))
    first = cluster.logs(key_of(), "stdout", 0, 1 << 20)
    assert first.content.startswith(b"1\n2\n")
    found, offset = b"", 0
    while content := (chunk := cluster.logs(key_of(), "stdout", offset, 700)).content:
        assert chunk.offset >= offset
        found, offset = found + content, chunk.end
    assert found.endswith(b"9999\n10000\n")
    assert 6000 <= len(found) <= 8000


def test_a_dashboard_that_is_away_loses_nothing(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore
) -> None:
    ray_double.is_away = True
    core.replace_assignments(5, "log-1", [assignment_of(shell("exit 4"))])
    for _ in range(3):
        core.step()
        cluster.wait(0.05)
    assert core.unanswered(9) == []
    assert len(cluster.nodes()) == 2
    ray_double.is_away = False
    until(cluster, core, lambda: bool(told(core, "finished")))
    assert [each.exit_code for each in told(core, "finished")] == [4]
    assert ray_double.submits == 1


def test_a_job_that_ray_has_lost_gives_its_pods_back(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore
) -> None:
    """As after a head that was restarted without the state of before."""
    core.replace_assignments(5, "log-1", [assignment_of(shell("sleep 60"))])
    until(cluster, core, lambda: bool(told(core, "ready")))
    ray_double.kill_worker(key_of().name)
    ray_double.jobs.clear()
    until(cluster, core, lambda: bool(told(core, "finished")))
    (report,) = told(core, "finished")
    assert (report.reason, report.signal) == ("NodeLost", 9)
    assert "no trace" in report.message


def test_pods_of_a_job_that_others_have_stopped_have_failed(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore
) -> None:
    core.replace_assignments(5, "log-1", [assignment_of(shell("sleep 60"))])
    until(cluster, core, lambda: bool(told(core, "ready")))
    ray_double.kill_worker(key_of().name)
    for job in ray_double.jobs.values():
        job["status"] = "STOPPED"
    until(cluster, core, lambda: bool(told(core, "finished")))
    assert [each.reason for each in told(core, "finished")] == ["Error"]


def test_a_job_that_the_executor_does_not_know_is_ended(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """Its directory was lost: the server has its pods placed again, so that these must not live."""
    core.replace_assignments(5, "log-1", [assignment_of(shell("sleep 60"))])
    until(cluster, core, lambda: bool(told(core, "ready")))
    with contextlib.closing(ray_double.substrate(tmp_path / "other")) as other:

        def are_gone() -> bool:
            other.observe()
            return not ray_double.jobs

        eventually(are_gone, other)
    until(cluster, core, lambda: cluster.observe()[key_of().name].state == "Ended")


def test_a_pod_that_needs_what_ray_has_not_is_refused(
    cluster: RayCluster, core: ExecutorCore
) -> None:
    template = shell("true", volumes=[{"name": "scratch", "emptyDir": {}}])
    core.replace_assignments(5, "log-1", [assignment_of(template)])
    core.step()
    (report,) = told(core, "finished")
    assert report.reason == "StartFailed"
    assert "volumes.emptyDir" in report.message


def test_what_ray_still_has_of_ended_pods_is_no_use_by_others(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore
) -> None:
    """Until the driver of their job ends, as other ranks may run on."""
    template = shell("test $RANK = 0 || sleep 60")
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    core.replace_assignments(5, "log-1", [assignment_of(template, pods=2)])
    until(cluster, core, lambda: len(told(core, "finished")) == 1)
    ray_double.use = "2.0/16.0 CPU"
    (first, _) = cluster.nodes()
    assert first.used_by_others is not None
    assert first.used_by_others["cpu"] == "0m"
    ray_double.use = "3.0/16.0 CPU"
    (first, _) = cluster.nodes()
    assert first.used_by_others == {"cpu": "1000m", "memory": "0"}


def test_a_job_is_forgotten_with_its_last_pod(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    core.replace_assignments(5, "log-1", [assignment_of(shell("true"), pods=2)])
    until(cluster, core, lambda: len(told(core, "finished")) == 2)
    for index in range(2):
        cluster.forget(key_of(index))
    core.replace_assignments(6, "log-1", [])
    until(cluster, core, lambda: not ray_double.jobs)
    assert list((tmp_path / "ray" / "jobs").iterdir()) == []


def test_jobs_of_one_attempt_have_names_of_their_own(
    ray_double: RayDouble, cluster: RayCluster, core: ExecutorCore
) -> None:
    """A pod that is retried alone is a job of its own."""
    core.replace_assignments(5, "log-1", [assignment_of(shell("exit $HEADGATE_RUN"))])
    until(cluster, core, lambda: len(told(core, "finished")) == 1)
    core.replace_assignments(6, "log-1", [assignment_of(shell("exit $HEADGATE_RUN"), run=2)])
    until(cluster, core, lambda: len(told(core, "finished")) == 2)
    assert [each.exit_code for each in told(core, "finished")] == [1, 2]
    assert ray_double.submits == 2
    assert all(name.startswith(f"hg-{own_uid()}-1-") for name in ray_double.jobs)


def test_a_pod_begins_once_and_ends_with_all_its_processes(tmp_path: Path) -> None:
    """Also those that left its session, by which a group of processes is not known any more."""
    script = (
        f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' & sleep 0.3; echo done; "
        "echo loss=0.1 > $HERE/pod/result"
    )
    plan = {
        "command": ["sh", "-c", script],
        "environment": {"PATH": "/usr/bin:/bin", "HERE": "@headgate:RUN@"},
        "workingDirectory": "",
        "hosts": [],
        "graceSeconds": 1,
        "activeDeadlineSeconds": None,
        "maxOutputBytes": 1 << 20,
    }
    for _ in range(2):
        run_supervised(tmp_path, plan)
    child = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{child}").exists()
    end = msgspec.json.decode((tmp_path / pod.EXIT).read_bytes())
    assert (end["reason"], end["exit_code"], end["result"]) == ("Completed", 0, "loss=0.1\n")
    assert (tmp_path / "stdout.00000000000000000000").read_text() == "done\n"


def run_supervised(directory: Path, plan: pod.Object) -> None:
    """Runs a pod in a process of its own, as an actor is."""
    process = FORK.Process(target=pod.supervise, args=(directory, plan))
    process.start()
    process.join()


def test_doctor_sees_the_cluster_that_is_named(ray_double: RayDouble) -> None:
    (found,) = ray(ray_double.url)
    assert found.level == "ok"
    assert found.text == f"2.60.0 at {ray_double.url}, 2 nodes, 2 named"
    ray_double.is_away = True
    (away,) = ray(ray_double.url)
    assert away.level == "warn"
    assert ray("") == []


def test_what_is_in_use_is_read_as_ray_prints_it(ray_double: RayDouble) -> None:
    ray_double.use = (
        "1.5/16.0 CPU (1.0 used of 1.0 reserved in placement groups)\n2.00GiB/8GiB memory"
    )
    with contextlib.closing(Dashboard(ray_double.url)) as dashboard:
        (first, _) = dashboard.nodes()
    assert first.used == {"CPU": 1.5, "memory": float(2 << 30)}
