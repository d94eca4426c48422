"""What the Slurm executor does beyond the contract of substrates."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest

from headgate.cli.commands.slurm_import import Translation
from headgate.cli.operations.findings import slurm
from headgate.cli.slurm_files import read_slurm
from headgate.executor.assignments import AssignedPod, Assignment, Order
from headgate.executor.core import ExecutorCore
from headgate.executor.reconcile import RunReport
from headgate.executor.substrate import NodeDescription, ObservedRun, RunState
from headgate.executor.substrates.agent.run_directory import (
    EXIT,
    LAUNCH,
    POD,
    STOP,
    Exit,
    Launch,
    RunContext,
    Stop,
    read,
    write,
)
from headgate.executor.substrates.slurm.cluster import SlurmCluster
from headgate.executor.substrates.slurm.command_line import (
    SlurmAway,
    SlurmCommands,
    SlurmRefused,
)
from headgate.executor.substrates.slurm.jobs import (
    BEGUN,
    ERRORS,
    JOBS,
    RUNS,
    SCRIPT,
    SUBMITTED,
    Job,
    Member,
    Shape,
    Submitted,
    options_of,
    shape_of,
    write_job,
)
from headgate.executor.substrates.slurm.nodes import gres_of, states_of
from headgate.executor.substrates.slurm.queue import QueuedJob
from headgate.executor.substrates.slurm.runs import Run, end_silent, look_at, settle
from tests.executors.pods import (
    assignment_of,
    ended,
    eventually,
    key_of,
    output_of,
    own_uid,
    shell,
)
from tests.executors.slurm_cluster import SEARCH_PATH, SKIPPED, SlurmTestCluster, is_wanted

needs_slurm = pytest.mark.skipif(not is_wanted(), reason=SKIPPED)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("IDLE", {"IDLE"}),
        ("MIXED+DRAIN", {"MIXED", "DRAIN"}),
        ("DOWN*+DRAIN", {"DOWN", "DRAIN", "NOT_RESPONDING"}),
    ],
)
def test_states_of_a_node(text: str, states: set[str]) -> None:
    assert states_of(text) == states


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(null)", []),
        ("gpu:2", [("gpu", "", 2)]),
        ("gpu:a100:4(S:0-1),shard:8", [("gpu", "a100", 4), ("shard", "", 8)]),
        ("gpu:a100:2(IDX:0,3)", [("gpu", "a100", 2)]),
    ],
)
def test_generic_resources(text: str, found: list[tuple[str, str, int]]) -> None:
    assert list(gres_of(text)) == found


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("slurm_load_node error: Connection reset by peer", SlurmAway),
        ("slurm_load_node error: something that is not known yet", SlurmAway),
        ("sbatch: error: Batch job submission failed: Connection reset by peer", SlurmAway),
        ("sbatch: error: Batch job submission failed: Invalid qos specification", SlurmRefused),
        ("scontrol: fatal: Unable to process configuration file", SlurmRefused),
    ],
)
def test_a_controller_that_is_away_is_told_from_one_that_refuses(
    tmp_path: Path, text: str, failure: type[Exception]
) -> None:
    """A controller that is killed while it answers is asked again, whatever its clients say."""
    program = tmp_path / "scontrol"
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(failure):
        SlurmCommands(search_path=f"{tmp_path}:{os.environ['PATH']}").nodes()


@pytest.mark.parametrize(
    ("nodes", "memory", "count"),
    [
        (("a", "a", "b", "b"), "--mem=600", 2),
        (("a", "a", "b"), "--mem-per-cpu=150", 2),
        (("a",), "--mem=300", 1),
    ],
)
def test_a_job_asks_for_exactly_its_nodes_and_memory(
    nodes: tuple[str, ...], memory: str, count: int
) -> None:
    shape = shape_of(
        cpu_milli=1500,
        memory_bytes=300 << 20,
        gpus=1,
        limit_seconds=90,
        account=None,
        is_placed=True,
        default_memory_mebibytes=100,
    )
    members = tuple(Member(name=f"m{index}", node=node) for index, node in enumerate(nodes))
    job = Job(name="hg-1", members=members, shape=shape)
    options = options_of(Path("/shared/jobs/hg-1"), job, "main", ["--qos=high"])
    assert {memory, f"--nodes={count}", "--cpus-per-task=2", "--gpus-per-task=1"} <= set(options)
    assert {"--time=7", "--hold", "--no-requeue", "--partition=main"} <= set(options)
    assert options[-1] == "--qos=high"


SHAPE = Shape(cpus=1, memory_mebibytes=1, gpus=0, minutes=0, account=None, is_placed=True)


def job_of_one() -> Job:
    return Job(name="hg-1", members=(Member(name=key_of().name, node="a"),), shape=SHAPE)


def observed_run(directory: Path, state: RunState) -> Run:
    context = RunContext(key=key_of(), log_id="log-1", grace_seconds=1, checkpoint_signal=15)
    observed = ObservedRun(key=key_of(), log_id="log-1", state=state)
    return Run(directory=directory, context=context, shape=SHAPE, observed=observed)


@pytest.mark.parametrize(
    ("errors", "state", "reason"),
    [
        ("srun: error: Unable to confirm allocation for job 6: pending", "FAILED", "NodeLost"),
        ("srun: error: Unable to contact slurm controller (connect failure)", "FAILED", "NodeLost"),
        ("srun: error: host-3: task 2: Killed", "FAILED", "NodeLost"),
        ("srun: error: host-3: tasks 0,2-3: Killed", "COMPLETED", "NodeLost"),
        ("", "COMPLETED", "NodeLost"),
        ("", "FAILED", "StartFailed"),
        ("python: not found", "FAILED", "StartFailed"),
        ("python: not found", "COMPLETED", "StartFailed"),
    ],
)
def test_a_job_of_which_no_rank_began_tells_why(
    tmp_path: Path, errors: str, state: str, reason: str
) -> None:
    """Daemons that were killed lose a launch; anything else is an error of the installation."""
    (tmp_path / ERRORS).write_text(errors)
    run = observed_run(tmp_path, "Starting")
    end_silent(run, QueuedJob(directory=tmp_path, plan=job_of_one()), state)
    assert run.observed.end is not None
    assert run.observed.end.reason == reason
    assert errors in run.observed.end.message


def run_in(directory: Path, script: str = "true") -> tuple[Path, Path]:
    """A job with one rank on this host, as the executor writes both; directories of job and run."""
    job, own = directory / JOBS / job_of_one().name, directory / RUNS / key_of().name
    write_job(job, job_of_one(), "-")
    (own / POD).mkdir(parents=True)
    command = ("sh", "-c", f"cd {directory} && {script}")
    launch = Launch(
        name=own.name,
        boot_id="",
        command=command,
        environment={},
        working_directory="/",
        news_directory=str(directory),
    )
    write(own / LAUNCH, launch)
    return job, own


def start_rank(job: Path, node: str = "a") -> None:
    """A rank as Slurm starts it: a process of its own, as it changes how that takes signals."""
    command = [sys.executable, "-m", "headgate.executor.substrates.slurm.rank", str(job)]
    names = {"SLURM_PROCID": "0", "SLURMD_NODENAME": node}
    subprocess.run(command, env={**os.environ, **names}, check=True, timeout=60)


def test_a_rank_that_begins_twice_runs_its_pod_once(tmp_path: Path) -> None:
    """A controller that forgot that it had launched a job launches it again."""
    job, _ = run_in(tmp_path, "echo started >> starts")
    start_rank(job)
    start_rank(job)
    assert (tmp_path / "starts").read_text() == "started\n"


@pytest.mark.parametrize(("node", "reason"), [("a", "Evicted"), ("b", "StartFailed")])
def test_a_rank_that_must_not_run_starts_no_pod(tmp_path: Path, node: str, reason: str) -> None:
    job, own = run_in(tmp_path, "echo started >> starts")
    if node == "a":
        write(own / STOP, Stop(reason="Evicted", signal=15, kill_at=0.0, is_by_wall_clock=True))
    start_rank(job, node)
    end = read(own / EXIT, Exit)
    assert end is not None
    assert (end.reason, end.exit_code, end.started_at) == (reason, None, None)
    assert not (tmp_path / "starts").exists()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("TIMEOUT", "DeadlineExceeded"),
        ("OUT_OF_MEMORY", "OOMKilled"),
        ("CANCELLED", "Error"),
        ("NODE_FAIL", "NodeLost"),
        ("", "NodeLost"),
    ],
)
def test_a_pod_that_slurm_ended_with_its_rank_ended_for_the_reason_of_its_job(
    tmp_path: Path, state: str, reason: str
) -> None:
    """SIGTERM alone does not tell a time limit from a failed node."""
    job, own = run_in(tmp_path)
    run = observed_run(own, "Running")
    (own / BEGUN).touch()
    write(own / EXIT, Exit(reason="Error", signal=15, started_at=1, was_terminated=True))
    look_at(run)
    assert run.observed.state == "Running"
    settle(run, QueuedJob(directory=job, plan=job_of_one()), state, is_over=False)
    assert run.observed.end is not None
    assert (run.observed.end.reason, run.observed.end.signal) == (reason, 15)
    kept = read(own / EXIT, Exit)
    assert kept is not None
    assert (kept.reason, kept.was_terminated) == (reason, False)


@pytest.fixture
def cluster(slurm_of_tests: SlurmTestCluster, tmp_path: Path) -> Iterator[SlurmCluster]:
    made = slurm_of_tests.substrate(tmp_path / "slurm", lost_seconds=2.0)
    yield made
    for run in list(made.observe().values()):
        made.kill(run.key)
        made.flush()
        ended(made, run.key)
    made.close()


@pytest.fixture
def core(cluster: SlurmCluster, tmp_path: Path) -> Iterator[ExecutorCore]:
    made = ExecutorCore(cluster, tmp_path / "core", now=lambda: 0, say=lambda _line: None)
    yield made
    made.close()


def until(cluster: SlurmCluster, core: ExecutorCore, look: Callable[[], bool]) -> None:
    def step() -> bool:
        core.step()
        if look():
            return True
        cluster.wait(0.05)
        return False

    eventually(step)


def finished(core: ExecutorCore) -> list[RunReport]:
    return [each for each in core.unanswered(100) if each.type == "finished"]


def jobs_of(directory: Path) -> list[str]:
    """The numbers of the jobs that a test has had released."""
    files = (directory / "slurm" / JOBS).glob(f"*/{SUBMITTED}")
    found = (msgspec.json.decode(path.read_bytes(), type=Submitted) for path in files)
    return [str(each.id) for each in found if each.is_released]


def gang_of(script: str, hosts: tuple[str, ...], attempt: int = 1) -> Assignment:
    """A gang of which each rank has its own node."""
    given = assignment_of(shell(script), pods=len(hosts), hosts=hosts, attempt=attempt)
    pods = tuple(
        AssignedPod(index=index, rank=index, run=1, node=node) for index, node in enumerate(hosts)
    )
    (pod_set,) = given.pod_sets
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


def restart(cluster: SlurmTestCluster, signal_of_controller: signal.Signals) -> None:
    """Ends the controller and the daemon of a node, and starts them again."""
    cluster.kill("slurmctld", signal_of_controller)
    cluster.kill("slurmd-1")
    cluster.start_controller()
    cluster.start_node(1)


HOSTS = ("host-3", "host-1", "host-1", "host-2")


@needs_slurm
def test_ranks_run_where_they_are_placed_while_daemons_restart(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """A gang over three nodes, in another order than theirs; the controller saves its state."""
    go = tmp_path / "go"
    script = f"echo $RANK $HEADGATE_NODE; while ! test -e {go}; do sleep 0.05; done; exit $RANK"
    core.replace_assignments(5, "log-1", [gang_of(script, HOSTS, attempt=2)])
    until(cluster, core, lambda: sum(each.type == "ready" for each in core.unanswered(99)) == 4)
    restart(slurm_of_tests, signal.SIGTERM)
    go.touch()
    until(cluster, core, lambda: len(finished(core)) == 4)
    codes = {each.index: each.exit_code for each in finished(core)}
    until(cluster, core, lambda: slurm_of_tests.is_idle_again(f"hg-{own_uid()}-2-"))
    assert codes == {0: 0, 1: 1, 2: 2, 3: 3}
    assert [output_of(cluster, key_of(rank, attempt=2)) for rank in range(4)] == [
        f"{rank} {node}\n" for rank, node in enumerate(HOSTS)
    ]


@needs_slurm
def test_an_order_to_stop_reaches_all_ranks_of_a_gang(
    cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """Ranks of three nodes save their work before the deadline; one that does not is killed."""
    script = (
        f"trap 'sleep 0.2; cp $HEADGATE_EVICTION_FILE {tmp_path}/saved-$RANK; exit 0' TERM; "
        f"test $RANK != 3 || trap '' TERM; touch {tmp_path}/up-$RANK; "
        "while :; do sleep 0.05; done"
    )
    gang = gang_of(script, HOSTS, attempt=4)
    core.replace_assignments(5, "log-1", [gang])
    until(cluster, core, lambda: sum(each.type == "ready" for each in core.unanswered(99)) == 4)
    until(cluster, core, lambda: len(list(tmp_path.glob("up-*"))) == 4)
    stopped: list[RunReport] = []

    def have_stopped(ranks: int) -> bool:
        stopped[:] = [each for each in core.unanswered(99) if each.type == "stopped"]
        return len(stopped) == ranks

    # The deadline comes once the ranks that obey have ended, however long that took.
    for position, seconds, ranks in ((6, 600, 3), (7, 0, 4)):
        deadline = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        order = Order(id="e1", reason="Preempted", deadline=deadline)
        ordered = msgspec.structs.replace(gang, eviction=order)
        core.replace_assignments(position, "log-1", [ordered])
        until(cluster, core, partial(have_stopped, ranks))
    saved = [msgspec.json.decode((tmp_path / f"saved-{n}").read_bytes()) for n in range(3)]
    assert [each["reason"] for each in saved] == ["Preempted"] * 3
    assert not (tmp_path / "saved-3").exists()
    ends = {each.index: (each.exit_code, each.signal) for each in stopped}
    assert ends == {0: (0, None), 1: (0, None), 2: (0, None), 3: (None, signal.SIGKILL)}


@needs_slurm
def test_pods_of_a_node_that_fails_are_lost_once_they_have_ended(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """Slurm ends the whole job then; a rank that goes on is ended before its pod is lost."""
    script = f"echo $$ > {tmp_path}/pid-$RANK; while :; do sleep 0.05; done"
    core.replace_assignments(5, "log-1", [gang_of(script, ("host-2", "host-4"), attempt=5)])
    until(cluster, core, lambda: sum(each.type == "ready" for each in core.unanswered(99)) == 2)
    slurm_of_tests.run("scontrol", "update", "nodename=host-4", "state=down", "reason=a test")
    told: set[int] = set()

    def all_finished() -> bool:
        told.update(each.index for each in finished(core))
        pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in told]
        assert not any(psutil.pid_exists(pid) for pid in pids)
        return len(told) == 2

    until(cluster, core, all_finished)
    assert [each.reason for each in finished(core)] == ["NodeLost"] * 2


@needs_slurm
def test_pods_of_ranks_that_slurm_never_launched_are_given_back(
    slurm_of_tests: SlurmTestCluster, tmp_path: Path
) -> None:
    """As where a node's daemon was killed in that moment: Slurm takes the job for running."""
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    cluster = slurm_of_tests.substrate(tmp_path / "slurm", python=str(silent), launch_seconds=0.5)
    core = ExecutorCore(cluster, tmp_path / "core", now=lambda: 0, say=lambda _line: None)
    core.replace_assignments(5, "log-1", [assignment_of(shell("true"), attempt=6)])
    until(cluster, core, lambda: bool(finished(core)))
    until(cluster, core, lambda: slurm_of_tests.is_idle(f"hg-{own_uid()}-6-"))
    core.close()
    cluster.close()
    assert [each.reason for each in finished(core)] == ["NodeLost"]


@needs_slurm
def test_a_job_that_a_killed_controller_found_again_is_ended(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """The executor is done with it, and knows it by its script; jobs of others go on."""
    scripts = {
        "hg-1-1-found": tmp_path / "slurm" / JOBS / "hg-1-1-found" / SCRIPT,
        "hg-1-1-other": tmp_path / "elsewhere" / JOBS / "hg-1-1-other" / SCRIPT,
    }
    ids = {}
    for name, script in scripts.items():
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\nexec sleep 60\n")
        options = ("--parsable", f"--job-name={name}", "--mem=50", "--chdir=/", "-o", "/dev/null")
        ids[name] = slurm_of_tests.run("sbatch", *options, str(script)).strip()
    core.replace_assignments(5, "log-1", [])
    until(cluster, core, lambda: slurm_of_tests.state_of(ids["hg-1-1-found"]) == "CANCELLED")
    assert slurm_of_tests.state_of(ids["hg-1-1-other"]) in {"PENDING", "RUNNING"}
    slurm_of_tests.run("scancel", ids["hg-1-1-other"])


@needs_slurm
def test_a_controller_that_forgot_what_it_started_leaves_no_pod_without_an_end(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """It was killed before it saved its state, and then takes the job for one that is held."""
    go = tmp_path / "go"
    core.replace_assignments(
        5, "log-1", [gang_of(f"while ! test -e {go}; do sleep 0.05; done", HOSTS, attempt=3)]
    )
    until(cluster, core, lambda: sum(each.type == "ready" for each in core.unanswered(99)) == 4)
    restart(slurm_of_tests, signal.SIGKILL)
    go.touch()
    until(cluster, core, lambda: len(finished(core)) == 4)
    until(cluster, core, lambda: slurm_of_tests.is_idle_again(f"hg-{own_uid()}-3-"))
    assert all(each.reason == "NodeLost" or each.exit_code == 0 for each in finished(core))


@needs_slurm
def test_a_job_is_released_again_that_slurm_holds(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    """So a controller has it that was killed before it saved that the job was released."""
    slurm_of_tests.run("scontrol", "update", "nodename=host-4", "state=drain", "reason=a test")
    try:
        core.replace_assignments(5, "log-1", [gang_of("true", ("host-4",))])
        until(cluster, core, lambda: bool(jobs_of(tmp_path)))
        slurm_of_tests.run("scontrol", "uhold", *jobs_of(tmp_path))
    finally:
        slurm_of_tests.run("scontrol", "update", "nodename=host-4", "state=resume")
    until(cluster, core, lambda: bool(finished(core)))
    (report,) = finished(core)
    assert report.exit_code == 0


@needs_slurm
def test_pods_of_nodes_that_drained_before_they_began_are_given_back(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore
) -> None:
    slurm_of_tests.run("scontrol", "update", "nodename=host-4", "state=drain", "reason=a test")
    try:
        core.replace_assignments(5, "log-1", [gang_of("true", ("host-4", "host-4"))])
        until(cluster, core, lambda: len(finished(core)) == 2)
    finally:
        slurm_of_tests.run("scontrol", "update", "nodename=host-4", "state=resume")
    assert [each.reason for each in finished(core)] == ["NodeLost"] * 2


def nodes_by_name(cluster: SlurmCluster) -> dict[str, NodeDescription]:
    return {node.name: node for node in cluster.nodes()}


@needs_slurm
def test_nodes_have_features_devices_states_and_what_others_use(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster
) -> None:
    before = nodes_by_name(cluster)
    assert before["host-1"].capacity["nvidia.com/gpu"] == "2"
    assert before["host-1"].labels["feature.slurm.headgate.dev/fast"] == "true"
    assert [before[f"host-{n}"].labels["topology-rack"] for n in (1, 2, 3)] == ["r1", "r1", "r2"]
    options = ("--ntasks=3", "--mem=700", "--nodelist=host-4", "--wrap=sleep 60")
    job = slurm_of_tests.run("sbatch", "--parsable", "--chdir=/", "-o", "/dev/null", *options)
    states = {"host-2": "drain", "host-3": "down", "host-4": "drain"}
    try:
        wanted = {"cpu": "3", "memory": "700Mi", "pods": "3"}
        eventually(lambda: nodes_by_name(cluster)["host-4"].used_by_others == wanted)
        for node, state in states.items():
            update = (f"nodename={node}", f"state={state}", "reason=a test")
            slurm_of_tests.run("scontrol", "update", *update)
        found = nodes_by_name(cluster)
    finally:
        slurm_of_tests.run("scancel", job.strip())
        eventually(lambda: slurm_of_tests.is_idle_again("wrap"))
    assert sorted(found) == ["host-1", "host-4"]
    (taint,) = found["host-4"].taints
    assert (taint["key"], taint["value"]) == ("slurm.headgate.dev/drain", "drain")
    eventually(lambda: sorted(nodes_by_name(cluster)) == sorted(before))


@needs_slurm
def test_doctor_sees_the_cluster_of_its_host(
    slurm_of_tests: SlurmTestCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", SEARCH_PATH)
    (found,) = slurm(slurm_of_tests.commands)
    assert found.level == "ok"
    assert found.text.endswith("4 nodes, 0 down, 0 drained or reserved")
    assert slurm(SlurmCommands(configuration=str(tmp_path / "none"))) == []


@needs_slurm
def test_a_job_that_slurm_refuses_fails_with_its_words(
    slurm_of_tests: SlurmTestCluster, tmp_path: Path
) -> None:
    cluster = slurm_of_tests.substrate(tmp_path / "slurm", sbatch_options=("--partition=none",))
    core = ExecutorCore(cluster, tmp_path / "core", now=lambda: 0, say=lambda _line: None)
    core.replace_assignments(5, "log-1", [assignment_of(shell("true"))])
    until(cluster, core, lambda: bool(finished(core)))
    (report,) = finished(core)
    core.close()
    cluster.close()
    assert report.reason == "StartFailed"
    assert "invalid partition" in report.message


@needs_slurm
def test_a_job_that_an_administrator_cancels_has_failed(
    slurm_of_tests: SlurmTestCluster, cluster: SlurmCluster, core: ExecutorCore, tmp_path: Path
) -> None:
    core.replace_assignments(5, "log-1", [assignment_of(shell("exec sleep 60"))])
    until(cluster, core, lambda: any(each.type == "ready" for each in core.unanswered(99)))
    slurm_of_tests.run("scancel", *jobs_of(tmp_path))
    until(cluster, core, lambda: bool(finished(core)))
    (report,) = finished(core)
    assert report.reason == "Error"
    assert report.signal in {signal.SIGTERM, signal.SIGKILL}


@needs_slurm
def test_what_a_cluster_says_of_its_partitions_is_translated(
    slurm_of_tests: SlurmTestCluster,
) -> None:
    told = slurm_of_tests.run("scontrol", "show", "partition")
    translation = Translation(read_slurm([told, slurm_of_tests.configuration.read_text()]))
    found = {one["metadata"]["name"]: one for one in translation.manifests()}
    (group,) = found["slurm"]["spec"]["resourceGroups"]
    quotas = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert quotas == {"cpu": "64", "memory": "32000Mi", "nvidia.com/gpu": "2"}
    assert found["main"]["spec"]["nodeLabels"] == {"headgate.dev/executor": "main"}
    said = "features fast, rack-r1, rack-r2 are labels of nodes; choose by nodeSelector"
    notes = [note for note in translation.notes if note.startswith("partition main: ")]
    assert notes == [f"partition main: {said}"]
