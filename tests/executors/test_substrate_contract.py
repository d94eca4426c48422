"""What every substrate does below the executor core: agent, simulator, and the clusters."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
import pytest

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.executor.assignments import Assignment, Order, PodEviction, PodIndices
from headgate.executor.core import ExecutorCore, RunAnswer
from headgate.executor.reconcile import RunReport
from headgate.executor.server_reports import orphan_objects, with_use_by_orphans
from headgate.executor.substrate import NodeLossPolicy, ObservedRun, RunKey, Substrate
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.host import FENCE_MARGIN_SECONDS, AgentHost
from headgate.executor.substrates.agent.run_directory import Started
from headgate.executor.substrates.ray.cluster import RayCluster
from headgate.executor.substrates.slurm.cluster import (
    FENCE_MARGIN_SECONDS as SLURM_FENCE_MARGIN_SECONDS,
)
from headgate.executor.substrates.slurm.cluster import SlurmCluster
from tests.executors.pods import LOG, assignment_of, ended, eventually, host_of, key_of, shell
from tests.executors.ray_cluster import RayTestCluster
from tests.executors.ray_double import RayDouble
from tests.executors.simulated_substrate import SimulatedSubstrate
from tests.executors.slurm_cluster import SKIPPED, SlurmTestCluster, is_wanted
from tests.kubernetes.api_double import api_double
from tests.kubernetes.builders import cluster_of, podded
from tests.kubernetes.kubelet import Cluster

EVICTION = Order(id="e1", reason="Preempted")


class World(Protocol):
    """A substrate, with what its pods do and what only it can see of them."""

    substrate: Substrate

    def pods(self, *, exit_code: int = 0, lasts: bool = False) -> Any:
        """A template of pods that end soon, or last and save when they are evicted."""

    def starts(self, key: RunKey) -> int:
        """How often a run was really started."""

    def rank(self, key: RunKey) -> str:
        """The rank that the pod has been given."""

    def saved(self, key: RunKey) -> str:
        """The reason of the eviction that the pod has read when it saved; empty before."""

    def lives(self, key: RunKey) -> bool:
        """Whether a process of the run lives."""

    def pass_lease(self) -> None:
        """Lets the lease of the executor end without a renewal."""

    def again(self) -> None:
        """What a new process of the executor finds."""

    def told(self) -> str:
        """Its runs, and jobs and nodes of a cluster, for the message of a failed test."""


class ProcessWorld(ABC):
    """Real processes of this host, with their runs in directories."""

    _name: ClassVar[str]
    _fence_margin: ClassVar[float]

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.substrate = self._new()

    @abstractmethod
    def _new(self) -> AgentHost | SlurmCluster | RayCluster:
        """A process of the executor over what an earlier one has left."""

    def pods(self, *, exit_code: int = 0, lasts: bool = False) -> Any:
        name = "$HEADGATE_ATTEMPT-$HEADGATE_POD_INDEX-$HEADGATE_RUN"
        script = f"echo $RANK >> {self._directory}/start-{name}; exit {exit_code}"
        if lasts:
            saving = (
                f"trap 'cp $HEADGATE_EVICTION_FILE {self._directory}/saved-{name}; exit 0' TERM"
            )
            waiting = "while :; do sleep 0.02; done"
            script = f"{saving}; echo $RANK >> {self._directory}/start-{name}; {waiting}"
        return shell(script)

    def starts(self, key: RunKey) -> int:
        return len(self._lines("start", key))

    def rank(self, key: RunKey) -> str:
        (rank,) = self._lines("start", key)
        return rank

    def saved(self, key: RunKey) -> str:
        path = self._file("saved", key)
        return msgspec.json.decode(path.read_bytes())["reason"] if path.exists() else ""

    def lives(self, key: RunKey) -> bool:
        path = self._directory / self._name / "runs" / key.name / files.STARTED
        started = files.read(path, Started)
        return started is not None and files.start_ticks(started.pid) is not None

    def pass_lease(self) -> None:
        self.substrate.keep_lease(self._fence_margin + 0.1)

    def again(self) -> None:
        self.substrate.close()
        self.substrate = self._new()

    def told(self) -> str:
        return str(self.substrate.observe())

    def end(self) -> None:
        for run in list(self.substrate.observe().values()):
            self.substrate.kill(run.key)
            self.substrate.flush()
            ended(self.substrate, run.key)
        self.substrate.close()

    def _lines(self, kind: str, key: RunKey) -> list[str]:
        path = self._file(kind, key)
        return path.read_text().splitlines() if path.exists() else []

    def _file(self, kind: str, key: RunKey) -> Path:
        return self._directory / f"{kind}-{key.attempt}-{key.index}-{key.run}"


class AgentWorld(ProcessWorld):
    """Pods of the agent of this host."""

    _name = "agent"
    _fence_margin = FENCE_MARGIN_SECONDS

    def _new(self) -> AgentHost:
        return host_of(self._directory)


class SlurmWorld(ProcessWorld):
    """Ranks of jobs of a Slurm cluster on this host."""

    _name = "slurm"
    _fence_margin = SLURM_FENCE_MARGIN_SECONDS

    def __init__(self, directory: Path, cluster: SlurmTestCluster) -> None:
        self._cluster = cluster
        super().__init__(directory)

    def _new(self) -> SlurmCluster:
        return self._cluster.substrate(self._directory / self._name)

    def told(self) -> str:
        return f"{super().told()}\n{self._cluster.told()}"


class KubernetesWorld:
    """Pods of the double of an API server, which outlive the executor's process."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        self._directory = directory
        self._cluster = cluster
        self.substrate = cluster_of(cluster, directory)

    def pods(self, *, exit_code: int = 0, lasts: bool = False) -> Any:
        return podded(exit_code=exit_code, lasts=lasts)

    def starts(self, key: RunKey) -> int:
        return self._cluster.starts[key.name]

    def rank(self, key: RunKey) -> str:
        return self._cluster.ranks[key.name]

    def saved(self, key: RunKey) -> str:
        return self._cluster.saved.get(key.name, "")

    def lives(self, key: RunKey) -> bool:
        return key.name in self._cluster.processes

    def pass_lease(self) -> None:
        self.substrate.keep_lease(0.1)

    def again(self) -> None:
        self.substrate.close()
        self.substrate = cluster_of(self._cluster, self._directory)

    def told(self) -> str:
        return str(self.substrate.observe())

    def end(self) -> None:
        self.substrate.close()


class RayWorld(ProcessWorld):
    """Ranks of jobs of a Ray cluster on this host."""

    _name = "ray"
    _fence_margin = 0.0

    def __init__(self, directory: Path, cluster: RayTestCluster | RayDouble) -> None:
        self._cluster = cluster
        super().__init__(directory)

    def _new(self) -> RayCluster:
        return self._cluster.substrate(self._directory / self._name)

    def lives(self, key: RunKey) -> bool:
        started = self._cluster.started(key.name)
        return started is not None and files.start_ticks(started.pid) is not None


class SimulatedWorld:
    """Simulated pods, which outlive the executor's process as a cluster does."""

    def __init__(self) -> None:
        self.substrate = SimulatedSubstrate()

    def pods(self, *, exit_code: int = 0, lasts: bool = False) -> Any:
        annotations = {
            "headgate.dev/run-seconds": "1000" if lasts else "0.1",
            "headgate.dev/fails": "true" if exit_code else "false",
        }
        return {**shell("true"), "metadata": {"annotations": annotations}}

    def starts(self, key: RunKey) -> int:
        return self.substrate.starts[key.name]

    def rank(self, key: RunKey) -> str:
        return self.substrate.environment_of(key)["RANK"]

    def saved(self, key: RunKey) -> str:
        order = self.substrate.saved.get(key.name)
        return order.reason if order is not None else ""

    def lives(self, key: RunKey) -> bool:
        run = self.substrate.observe().get(key.name)
        return run is not None and run.state != "Ended"

    def pass_lease(self) -> None:
        self.substrate.keep_lease(0.1)

    def again(self) -> None:
        return

    def told(self) -> str:
        return str(self.substrate.observe())

    def end(self) -> None:
        return


AnyWorld = KubernetesWorld | ProcessWorld | SimulatedWorld


@pytest.fixture(
    params=[
        "agent",
        "simulator",
        "kubernetes",
        pytest.param("slurm", marks=pytest.mark.skipif(not is_wanted(), reason=SKIPPED)),
        "ray-double",
        pytest.param("ray", marks=pytest.mark.nightly),
    ]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyWorld]:
    if request.param == "kubernetes":
        with api_double() as api:
            cluster = KubernetesWorld(tmp_path, Cluster(api))
            yield cluster
            cluster.end()
        return
    match request.param:
        case "agent":
            made: AnyWorld = AgentWorld(tmp_path)
        case "slurm":
            made = SlurmWorld(tmp_path, request.getfixturevalue("slurm_of_tests"))
        case "ray":
            made = RayWorld(tmp_path, request.getfixturevalue("ray_of_tests"))
        case "ray-double":
            made = RayWorld(tmp_path, request.getfixturevalue("ray_double"))
        case _:
            made = SimulatedWorld()
    yield made
    made.end()


class Cores:
    """Cores over a substrate, one after the other, with one directory."""

    def __init__(self, world: World, directory: Path) -> None:
        self.world, self._directory = world, directory
        self.core = self._new()

    def kill(self) -> None:
        """Ends the core where it stands; the next one has only files and the substrate."""
        self.core.close()
        self.world.again()
        self.core = self._new()

    def until(self, look: Callable[[], bool]) -> None:
        """Steps until it is so."""

        def step() -> bool:
            self.core.step()
            if look():
                return True
            self.world.substrate.wait(0.05)
            return False

        try:
            eventually(step)
        except AssertionError as failure:
            failure.add_note(self.world.told())
            raise

    def reported(self, kind: str) -> list[RunReport]:
        return [each for each in self.core.unanswered(1000) if each.type == kind]

    def assign(self, *assignments: Assignment, position: int = 5, log_id: str = LOG) -> None:
        self.core.replace_assignments(position, log_id, assignments)

    def _new(self) -> ExecutorCore:
        return ExecutorCore(
            self.world.substrate, self._directory, now=wall_clock, say=lambda _line: None
        )


@pytest.fixture
def cores(world: World, tmp_path: Path) -> Iterator[Cores]:
    made = Cores(world, tmp_path / "core")
    yield made
    made.core.close()


def run_of(cores: Cores, key: RunKey) -> ObservedRun | None:
    return cores.world.substrate.observe().get(key.name)


def is_running(cores: Cores, key: RunKey) -> bool:
    run = run_of(cores, key)
    return run is not None and run.state == "Running" and cores.world.starts(key) == 1


def test_exit_codes(world: World, cores: Cores) -> None:
    cores.assign(assignment_of(world.pods()))
    cores.until(lambda: bool(cores.reported("finished")))
    (good,) = cores.reported("finished")
    cores.assign(assignment_of(world.pods(exit_code=1), attempt=2))
    cores.until(lambda: len(cores.reported("finished")) == 2)
    bad = cores.reported("finished")[1]
    assert [(each.reason, each.exit_code) for each in (good, bad)] == [
        ("Completed", 0),
        ("Error", 1),
    ]


def test_starting_twice_is_starting_once(world: World, cores: Cores) -> None:
    given = assignment_of(world.pods(lasts=True))
    for _ in range(3):
        cores.assign(given)
        cores.core.step()
    cores.until(lambda: is_running(cores, key_of()))
    assert world.starts(key_of()) == 1


def test_an_executor_that_is_killed_at_each_step_loses_and_repeats_nothing(
    world: World, cores: Cores
) -> None:
    def step() -> bool:
        cores.kill()
        cores.assign(assignment_of(world.pods(exit_code=1), pods=2))
        cores.core.step()
        world.substrate.wait(0.05)
        return len(cores.reported("finished")) == 2

    eventually(step)
    assert [each.exit_code for each in cores.reported("finished")] == [1, 1]
    assert [world.starts(key_of(index)) for index in range(2)] == [1, 1]


def test_a_run_that_nothing_assigns_is_ended(world: World, cores: Cores) -> None:
    """Pods of the same log that are assigned no more, as after an agent was away for long."""
    cores.assign(assignment_of(world.pods(lasts=True)))
    cores.until(lambda: is_running(cores, key_of()))
    cores.kill()
    cores.assign(position=6)
    cores.until(lambda: not world.lives(key_of()))


def test_an_earlier_attempt_ends_before_its_pod_starts_again(world: World, cores: Cores) -> None:
    template = world.pods(lasts=True)
    cores.assign(assignment_of(template))
    cores.until(lambda: is_running(cores, key_of()))
    cores.assign(assignment_of(template, attempt=2), position=6)
    cores.until(lambda: is_running(cores, key_of(attempt=2)))
    assert not world.lives(key_of())


@pytest.mark.parametrize("code", ["StaleAttempt", "StaleRun"])
def test_a_refused_report_is_not_sent_again(world: World, cores: Cores, code: str) -> None:
    cores.assign(assignment_of(world.pods()))
    cores.until(lambda: bool(cores.reported("finished")))
    refused = [
        RunAnswer(report=each, accepted=False, code=code) for each in cores.core.unanswered(9)
    ]
    cores.core.take_answers(refused)
    cores.kill()
    cores.assign(assignment_of(world.pods()))
    cores.core.step()
    assert cores.core.unanswered(9) == []
    assert world.starts(key_of()) == 1


def test_stopped_is_told_only_once_no_process_lives(world: World, cores: Cores) -> None:
    given = assignment_of(world.pods(lasts=True), pods=2)
    keys = [key_of(index) for index in range(2)]
    cores.assign(given)
    cores.until(lambda: all(is_running(cores, key) for key in keys))
    cores.assign(msgspec.structs.replace(given, eviction=EVICTION), position=6)
    told: set[int] = set()

    def all_stopped() -> bool:
        told.update(each.index for each in cores.reported("stopped"))
        assert not any(world.lives(key_of(index)) for index in told)
        return len(told) == 2

    cores.until(all_stopped)


def test_only_the_ranks_of_a_pod_eviction_stop_and_come_back_in_their_places(
    world: World, cores: Cores
) -> None:
    given = assignment_of(world.pods(lasts=True), pods=3)
    first, middle, last = (key_of(index) for index in range(3))
    cores.assign(given)
    cores.until(lambda: all(is_running(cores, key) for key in (first, middle, last)))
    named = (PodIndices(pod_set="main", indices="1"),)
    order = PodEviction(id="e1", reason="Preempted", pods=named)
    cores.assign(msgspec.structs.replace(given, pod_evictions=(order,)), position=6)
    cores.until(lambda: [each.index for each in cores.reported("stopped")] == [1])
    assert not world.lives(middle)
    (pod_set,) = given.pod_sets
    zeroth, lost, second = pod_set.pods
    left = msgspec.structs.replace(pod_set, pods=(zeroth, second))
    cores.assign(msgspec.structs.replace(given, pod_sets=(left,)), position=7)
    cores.core.step()
    again = msgspec.structs.replace(lost, run=2)
    whole = msgspec.structs.replace(pod_set, pods=(zeroth, again, second))
    cores.assign(msgspec.structs.replace(given, pod_sets=(whole,)), position=8)
    back = key_of(1, run=2)
    cores.until(lambda: is_running(cores, back))
    assert world.rank(back) == "1"
    assert all(is_running(cores, key) for key in (first, last)), "others ran on all the time"


def test_a_soft_eviction_reaches_the_pod(world: World, cores: Cores) -> None:
    given = assignment_of(world.pods(lasts=True))
    cores.assign(given)
    cores.until(lambda: is_running(cores, key_of()))
    cores.assign(msgspec.structs.replace(given, eviction=EVICTION), position=6)
    cores.until(lambda: bool(cores.reported("stopped")))
    assert world.saved(key_of()) == "Preempted"


@pytest.mark.parametrize(
    ("policy", "expected"), [("Replace", "Running"), ("Fence", "NodeLost"), ("Wait", "Running")]
)
def test_a_lost_server(world: World, cores: Cores, policy: NodeLossPolicy, expected: str) -> None:
    world.substrate.keep_lease(1_000.0)
    cores.assign(assignment_of(world.pods(lasts=True), node_loss_policy=policy))
    if policy == "Fence" and "fence" not in world.substrate.capabilities:
        cores.until(lambda: bool(cores.reported("finished")))
        (refused,) = cores.reported("finished")
        assert refused.reason == "StartFailed"
        assert "cannot fence" in refused.message
        return
    cores.until(lambda: is_running(cores, key_of()))
    world.pass_lease()
    world.substrate.wait(0.2)
    if policy == "Fence":
        cores.until(lambda: not world.lives(key_of()) and bool(cores.reported("finished")))
        (report,) = cores.reported("finished")
        assert report.reason == expected
    else:
        world.substrate.wait(0.2)
        cores.core.step()
        run = run_of(cores, key_of())
        assert run is not None
        assert run.state == expected
        assert world.lives(key_of())


def test_pods_that_another_log_does_not_know_live_on(world: World, cores: Cores) -> None:
    cores.assign(assignment_of(world.pods(lasts=True)))
    cores.until(lambda: is_running(cores, key_of()))
    cores.assign(log_id="another", position=9)
    for _ in range(3):
        cores.core.step()
        world.substrate.wait(0.05)
    assert cores.core.orphans == {key_of().name}
    assert world.lives(key_of())
    assert cores.core.is_clean()


def test_pods_that_a_restored_log_does_not_know_live_on_where_it_has_grown(
    world: World, cores: Cores
) -> None:
    cores.assign(assignment_of(world.pods(lasts=True)))
    cores.until(lambda: is_running(cores, key_of()))
    cores.core.note_point(LOG, 8, "lost")
    assert cores.core.mark.position == 8
    cores.kill()
    cores.core.replace_assignments(9, LOG, [], chain="grown", holds_known=False)
    for _ in range(3):
        cores.core.step()
        world.substrate.wait(0.05)
    assert cores.core.orphans == {key_of().name}
    assert world.lives(key_of())
    cores.core.replace_assignments(10, LOG, [], chain="later", holds_known=True)
    assert cores.core.orphans == {key_of().name}
    assert (cores.core.mark.position, cores.core.mark.chain) == (10, "later")


def test_an_orphan_that_ended_is_forgotten(world: World, cores: Cores) -> None:
    cores.assign(assignment_of(world.pods(lasts=True)))
    cores.until(lambda: is_running(cores, key_of()))
    cores.assign(log_id="another", position=9)
    world.substrate.kill(key_of())
    cores.until(lambda: bool(cores.reported("finished") or cores.reported("stopped")))
    refused = [
        RunAnswer(report=each, accepted=False, code="ObjectNotFound")
        for each in cores.core.unanswered(10)
    ]
    cores.core.take_answers(refused)
    cores.until(lambda: run_of(cores, key_of()) is None)
    assert cores.core.orphans == frozenset()


def use_by_others(world: World, orphans: list[ObservedRun]) -> dict[str, str]:
    """What is told of others on the node of the tests' pods."""
    nodes = {node.name: node for node in world.substrate.nodes()}
    (told,) = with_use_by_orphans([nodes["host-1"]], orphans)
    assert told.used_by_others is not None
    return told.used_by_others


def test_orphans_use_their_node_until_they_have_been_killed_by_decision(
    world: World, cores: Cores
) -> None:
    template = world.pods(lasts=True)
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1500m", "gpus": 0}}
    cores.assign(assignment_of(template))
    cores.until(lambda: is_running(cores, key_of()))
    cores.assign(log_id="another", position=9)
    (orphan,) = cores.core.orphaned_runs()
    # A cluster tells the use of its nodes some time after a pod has begun or ended.
    used = {"cpu": "1500m", "gpus": "0", "pods": "1"}.items()
    cores.until(lambda: used <= use_by_others(world, cores.core.orphaned_runs()).items())
    (told,) = orphan_objects([orphan])
    assert (told["workload"], told["podSet"], told["index"]) == ("team-a/train", "main", 0)
    assert told["uid"] == key_of().uid
    assert key_of().uid not in str(told["id"])
    cores.core.kill_orphans([str(told["id"])])
    cores.kill()
    cores.assign(log_id="another", position=10)
    cores.core.kill_orphans([str(told["id"])])
    assert [run.key for run in cores.core.orphaned_runs()] == [key_of()]
    assert not cores.core.is_clean()
    cores.until(lambda: not world.lives(key_of()) and not cores.core.orphaned_runs())
    assert cores.core.is_clean()
    cores.until(lambda: use_by_others(world, []).get("cpu", "0m") == "0m")


def test_ranks_are_in_the_order_of_pods(world: World, cores: Cores) -> None:
    given = assignment_of(world.pods(), pods=4)
    cores.assign(given)
    cores.until(lambda: len(cores.reported("finished")) == 4)
    assert [world.rank(key_of(index)) for index in range(4)] == ["0", "1", "2", "3"]
