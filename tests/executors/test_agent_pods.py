"""Pods of an agent as real processes: results, output, stops, fencing, and killed shims."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil
import pytest

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.reconcile import report_of
from headgate.executor.substrate import (
    CannotStart,
    ObservedRun,
    RunEnd,
    SessionPlan,
    StopOrder,
)
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.host import AgentHost, HostSettings
from headgate.executor.substrates.agent.inventory import Gpu, NodeSettings
from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.executor.substrates.agent.run_directory import (
    CgroupLayout,
    Launch,
    Started,
    Supervisor,
)
from headgate.executor.substrates.agent.terminal import AgentSession, SessionLaunch
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns, WakeSocket, tell
from headgate.executor.substrates.agent.zygote import SHIM_LOG
from tests.executors.pods import (
    WAIT_SECONDS,
    ended,
    eventually,
    host_of,
    key_of,
    output_of,
    plan_of,
    python,
    shell,
    template_of,
)

WITHOUT_CGROUPS = CgroupLayout()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[AgentHost]:
    made = host_of(tmp_path)
    yield made
    for run in list(made.observe().values()):
        made.kill(run.key)
        ended(made, run.key)
        made.forget(run.key)
    made.close()


def directory_of(tmp_path: Path, index: int = 0) -> Path:
    return tmp_path / "agent" / "runs" / key_of(index).name


def end_of(run: ObservedRun) -> RunEnd:
    assert run.end is not None
    return run.end


def running(host: AgentHost, index: int = 0) -> ObservedRun:
    def look() -> ObservedRun | None:
        run = host.observe()[key_of(index).name]
        return run if run.state != "Starting" else None

    return eventually(look, host)


def lines(host: AgentHost, count: int) -> list[str]:
    """The lines of the first pod once there are so many.

    An earlier test's pod of the same name may still end: the shim is started again until it has.
    """

    def look() -> list[str] | None:
        host.observe()
        found = output_of(host, key_of()).splitlines()
        return found if len(found) >= count else None

    return eventually(look, host)


def is_running(pid: int) -> bool:
    return files.start_ticks(pid) is not None


@pytest.mark.parametrize(
    ("script", "reason", "code", "number"),
    [
        ("true", "Completed", 0, None),
        ("exit 3", "Error", 3, None),
        ("kill -9 $$", "Error", None, 9),
    ],
)
def test_a_pod_ends_with_the_code_or_signal_of_its_command(
    host: AgentHost, script: str, reason: str, code: int | None, number: int | None
) -> None:
    host.start(plan_of(key_of(), shell(script)))
    end = end_of(ended(host, key_of()))
    assert (end.reason, end.exit_code, end.signal) == (reason, code, number)


def test_output_is_kept_by_stream(host: AgentHost) -> None:
    host.start(plan_of(key_of(), shell("echo out; echo err >&2; printf half")))
    ended(host, key_of())
    assert output_of(host, key_of()) == "out\nhalf"
    assert output_of(host, key_of(), "stderr") == "err\n"


def test_of_much_output_the_first_and_last_bytes_are_kept(host: AgentHost) -> None:
    limit, written = 8_000, 100_000
    program = f"import sys; sys.stdout.write(''.join(f'{{n:09d}}\\n' for n in range({written})))"
    host.start(plan_of(key_of(), python(program), max_output_bytes=limit))
    ended(host, key_of())
    kept = output_of(host, key_of()).splitlines()
    assert kept[0] == f"{0:09d}"
    assert kept[-1] == f"{written - 1:09d}"
    assert 2 * limit <= len("\n".join(kept)) < 3 * limit


def test_starting_a_run_twice_is_starting_it_once(host: AgentHost, tmp_path: Path) -> None:
    plan = plan_of(key_of(), shell(f"echo once >> {tmp_path}/starts"))
    host.start(plan)
    host.start(plan)
    host._zygote.start_shim(directory_of(tmp_path))  # noqa: SLF001 - as after a lost answer
    ended(host, key_of())
    host.start(plan)
    assert (tmp_path / "starts").read_text() == "once\n"


@pytest.mark.parametrize("layout", [None, WITHOUT_CGROUPS], ids=["best", "process-group"])
def test_processes_that_detached_end_with_their_pod(
    host: AgentHost, layout: CgroupLayout | None
) -> None:
    host.cgroups = host.cgroups if layout is None else layout
    detached = "setsid sh -c 'echo $$; exec sleep 300' & while ! [ -e go ]; do sleep 0.01; done"
    host.start(plan_of(key_of(), shell(detached)))
    pid = int(lines(host, 1)[0])
    assert is_running(pid)
    host.signal(key_of(), StopOrder(id="e1", attempt=1, deadline="2020-01-01T00:00:00Z"))
    ended(host, key_of())
    assert not is_running(pid)


def test_a_pod_that_ends_takes_its_background_processes_along(host: AgentHost) -> None:
    host.start(plan_of(key_of(), shell("setsid -f sh -c 'echo $$; exec sleep 300'; sleep 0.2")))
    ended(host, key_of())
    assert not is_running(int(lines(host, 1)[0]))


def test_an_evicted_pod_reads_the_order_and_saves_its_work(host: AgentHost, tmp_path: Path) -> None:
    saving = f"trap 'cat $HEADGATE_EVICTION_FILE > {tmp_path}/saved; exit 0' TERM; echo ready; "
    host.start(plan_of(key_of(), shell(saving + "while :; do sleep 0.02; done")))
    lines(host, 1)
    order = StopOrder(id="e1", attempt=1, reason="Preempted", preemptor="team-b/urgent")
    host.signal(key_of(), order)
    end = end_of(ended(host, key_of()))
    assert (end.reason, end.exit_code) == ("Evicted", 0)
    assert '"preemptor":"team-b/urgent"' in (tmp_path / "saved").read_text()


def test_progress_is_a_line_and_a_pipe_in_its_place_holds_up_nothing(
    host: AgentHost, tmp_path: Path
) -> None:
    """A file that is about to be written is empty for a moment, and tells nothing."""
    host.start(plan_of(key_of(), shell("trap '' TERM; echo ready; while :; do sleep 0.02; done")))
    lines(host, 1)
    host.signal(key_of(), StopOrder(id="e1", attempt=1))
    told = directory_of(tmp_path) / "pod" / "progress"
    os.utime(told, ns=(1, time.time_ns()))
    assert running(host).progressed_at == 0
    told.write_text("half saved\n")
    assert running(host).progress == "half saved"
    told.unlink()
    os.mkfifo(told)
    assert running(host).state == "Running"


def result_of(host: AgentHost, index: int, script: str) -> str:
    key = key_of(index)
    host.start(plan_of(key, shell(script)))
    return report_of(key, "finished", end=end_of(ended(host, key))).result


def test_a_pod_tells_its_result_by_a_file(host: AgentHost) -> None:
    """As much as the server takes, as text; what is no file tells nothing and holds up nothing."""
    assert result_of(host, 0, 'echo "loss=0.1" > "$HEADGATE_RESULT_FILE"; exit 3') == "loss=0.1"
    long = r"i=0; while [ $i -lt 3000 ]; do printf '\303\244'; i=$((i+1)); done"
    assert result_of(host, 1, f'({long}) > "$HEADGATE_RESULT_FILE"') == "\u00e4" * 2048
    no_text = r"printf 'a\000\033[1mb\377\nc\n'"
    assert result_of(host, 2, f'{no_text} > "$HEADGATE_RESULT_FILE"') == "a[1mb\ufffd\nc"
    assert result_of(host, 3, "true") == ""
    replaced = 'rm "$HEADGATE_RESULT_FILE"; mkfifo "$HEADGATE_RESULT_FILE"'
    assert result_of(host, 4, replaced) == ""


class OneGpu:
    """A host with one GPU."""

    def gpus(self) -> list[Gpu]:
        return [Gpu(id="GPU-1", model="H100", memory_bytes=1 << 30)]


def test_a_pod_waits_for_a_gpu_that_a_stopping_pod_has_and_not_for_others(tmp_path: Path) -> None:
    settings = HostSettings(
        directory=tmp_path / "agent",
        node=NodeSettings(name="host-1", executor=f"gpu-{os.getpid()}"),
        rules=PodRules(allow_root=True),
    )
    host = AgentHost(settings, OneGpu())
    template = shell("trap '' TERM; echo $CUDA_VISIBLE_DEVICES; while :; do sleep 0.02; done")
    template["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    first, second = plan_of(key_of(0), template), plan_of(key_of(1), template)
    try:
        host.start(first)
        assert lines(host, 1) == ["GPU-1"]
        with pytest.raises(CannotStart, match="1 GPUs requested, 0 of 1 free"):
            host.start(second)
        host.signal(first.key, StopOrder(id="e1", attempt=1))
        host.start(second)
        assert set(host.observe()) == {first.key.name}
        host.kill(first.key)
        ended(host, first.key)
        host.start(second)
        assert set(host.observe()) == {first.key.name, second.key.name}
        host.kill(second.key)
        ended(host, second.key)
    finally:
        host.close()


def test_a_command_beside_a_pod_that_has_just_ended_says_so(
    host: AgentHost, tmp_path: Path
) -> None:
    """Its directory was read before it ended; what it stood in is gone."""
    host.start(plan_of(key_of(), template_of("true")))
    ended(host, key_of())
    launch = files.read(directory_of(tmp_path) / files.LAUNCH, Launch)
    started = files.read(directory_of(tmp_path) / files.STARTED, Started)
    assert launch is not None
    assert started is not None
    gone = msgspec.structs.replace(launch, working_directory=str(tmp_path / "gone"))
    plan = SessionPlan(command=("true",))
    session = AgentSession(SessionLaunch(launch=gone, pid=started.pid, plan=plan))
    told = session.read()
    session.close()
    assert told is not None
    assert (told.exit_code, told.message) == (126, "the pod has ended")


def test_a_pod_may_ask_for_another_signal_before_its_checkpoint(host: AgentHost) -> None:
    template = shell("trap 'echo saved; exit 7' USR1; echo ready; while :; do sleep 0.02; done")
    template["metadata"] = {"annotations": {"headgate.dev/checkpoint-signal": "USR1"}}
    host.start(plan_of(key_of(), template))
    lines(host, 1)
    host.signal(key_of(), StopOrder(id="e1", attempt=1))
    assert end_of(ended(host, key_of())).exit_code == 7
    assert lines(host, 2) == ["ready", "saved"]


def test_a_pod_that_ignores_the_signal_is_killed_after_its_grace_period(host: AgentHost) -> None:
    stubborn = shell(
        "trap '' TERM; echo ready; while :; do sleep 0.1; done", terminationGracePeriodSeconds=1
    )
    host.start(plan_of(key_of(), stubborn))
    lines(host, 1)
    host.signal(key_of(), StopOrder(id="e1", attempt=1))
    end = end_of(ended(host, key_of()))
    assert (end.reason, end.signal) == ("Evicted", signal.SIGKILL)


def test_an_order_given_again_does_not_extend_the_grace_period(
    host: AgentHost, tmp_path: Path
) -> None:
    host.start(plan_of(key_of(), shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")))
    lines(host, 1)
    order = StopOrder(id="e1", attempt=1)
    host.signal(key_of(), order)
    first = (directory_of(tmp_path) / files.STOP).read_bytes()
    host.signal(key_of(), order)
    assert (directory_of(tmp_path) / files.STOP).read_bytes() == first


def test_a_pod_is_stopped_at_its_deadline(host: AgentHost) -> None:
    host.start(plan_of(key_of(), template_of("sleep", "300", activeDeadlineSeconds=1)))
    assert end_of(ended(host, key_of())).reason == "DeadlineExceeded"


def test_a_pod_beyond_its_memory_is_told_to_be_out_of_memory(host: AgentHost) -> None:
    if "memory" not in host.cgroups.by_controller and not host.cgroups.has_controllers:
        pytest.skip("this host has no memory cgroups for pods")
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    hungry = template_of(sys.executable, "-c", "bytearray(512 << 20)", container=limits)
    host.start(plan_of(key_of(), hungry))
    assert end_of(ended(host, key_of())).reason == "OOMKilled"


def test_a_fenced_pod_dies_by_its_shim_when_the_lease_ends(host: AgentHost) -> None:
    host.keep_lease(3600)
    host.start(plan_of(key_of(), template_of("sleep", "300"), node_loss_policy="Fence"))
    host.start(plan_of(key_of(1), template_of("sleep", "300")))
    running(host)
    running(host, 1)
    host.keep_lease(0)
    assert end_of(ended(host, key_of())).reason == "NodeLost"
    assert host.observe()[key_of(1).name].state == "Running"


def test_an_agent_that_starts_again_takes_its_pods_over(tmp_path: Path) -> None:
    first = host_of(tmp_path)
    first.start(plan_of(key_of(), shell("while ! [ -e go ]; do sleep 0.01; done; exit 5")))
    running(first)
    first.close()
    again = host_of(tmp_path)
    assert again.observe()[key_of().name].state == "Running"
    (directory_of(tmp_path) / "work" / "go").touch()
    assert end_of(ended(again, key_of())).exit_code == 5
    again.close()


@pytest.mark.parametrize("layout", [None, WITHOUT_CGROUPS], ids=["best", "process-group"])
def test_a_pod_is_ended_and_lost_after_its_shim_was_killed(
    host: AgentHost, tmp_path: Path, layout: CgroupLayout | None
) -> None:
    host.cgroups = host.cgroups if layout is None else layout
    host.start(plan_of(key_of(), shell("setsid sh -c 'echo $$; exec sleep 300'")))
    pid = int(lines(host, 1)[0])
    shim = files.read(directory_of(tmp_path) / files.SUPERVISOR, Supervisor)
    assert shim is not None
    os.kill(shim.pid, signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(shim.pid))
    host._scan()  # noqa: SLF001 - rather than to wait for the next one
    end = end_of(ended(host, key_of()))
    assert (end.reason, end.exit_code, end.signal) == ("NodeLost", None, None)
    assert not is_running(pid)


def test_a_pod_is_stopped_after_its_directory_was_deleted(host: AgentHost, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    script = f"trap 'touch {saved}; exit 0' TERM; echo $$; while :; do sleep 0.05; done"
    host.start(plan_of(key_of(), shell(script)))
    pid = int(lines(host, 1)[0])
    shim = files.read(directory_of(tmp_path) / files.SUPERVISOR, Supervisor)
    assert shim is not None
    running(host)
    directory_of(tmp_path).rename(tmp_path / "elsewhere")
    host.signal(key_of(), StopOrder(id="e1", attempt=1, reason="Preempted"))
    host.kill(key_of())
    host._scan()  # noqa: SLF001 - rather than to wait for the next one
    state = host.observe()[key_of().name].state
    assert state == "Running" or not is_running(shim.pid)
    eventually(lambda: not is_running(shim.pid))
    assert saved.exists()
    assert not is_running(pid)
    host._scan()  # noqa: SLF001 - the same
    end = end_of(ended(host, key_of()))
    assert (end.reason, end.message) == ("NodeLost", "the directory of the pod was deleted")


def test_a_pod_of_an_earlier_start_of_the_host_is_lost(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    host.start(plan_of(key_of(), template_of("sleep", "300")))
    running(host)
    shim = files.read(directory_of(tmp_path) / files.SUPERVISOR, Supervisor)
    launch = files.read(directory_of(tmp_path) / files.LAUNCH, Launch)
    assert shim is not None
    assert launch is not None
    os.kill(shim.pid, signal.SIGKILL)
    earlier = msgspec.structs.replace(launch, boot_id="earlier")
    files.write(directory_of(tmp_path) / files.LAUNCH, earlier)
    host.close()
    again = host_of(tmp_path)
    end = end_of(ended(again, key_of()))
    assert (end.reason, end.message) == ("NodeLost", "the host was restarted")
    again.forget(key_of())
    again.close()


def test_a_run_that_no_shim_has_taken_is_offered_again(host: AgentHost, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host._zygote, "start_shim", lambda _directory: None)  # noqa: SLF001
        host.start(plan_of(key_of(), template_of("true")))
    host._runs[key_of().name].asked_at = 0.0  # noqa: SLF001 - long ago
    host._scan()  # noqa: SLF001
    assert end_of(ended(host, key_of())).exit_code == 0


def test_a_forgotten_run_leaves_nothing_behind(host: AgentHost, tmp_path: Path) -> None:
    host.start(plan_of(key_of(), template_of("true")))
    ended(host, key_of())
    host.forget(key_of())
    assert list((tmp_path / "agent" / "runs").iterdir()) == []
    cgroups = [host.cgroups.unified, *host.cgroups.by_controller.values()]
    assert not any((Path(path) / key_of().name).exists() for path in cgroups if path)


def test_a_pod_waits_for_its_run_below_another_directory(host: AgentHost, tmp_path: Path) -> None:
    """As after a second agent took over, with a directory of its own."""
    alone = f"mkdir {tmp_path}/lock || echo twice"
    waiting = f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done"
    plan = plan_of(key_of(), shell(f"{alone}; {waiting}; rmdir {tmp_path}/lock"))
    host.start(plan)
    running(host)
    second = host_of(tmp_path / "second")
    second.start(plan)
    eventually((tmp_path / "second" / "agent" / SHIM_LOG).exists)
    assert second.observe()[key_of().name].state == "Starting"
    (tmp_path / "go").touch()
    ended(host, key_of())
    second._runs[key_of().name].asked_at = 0.0  # noqa: SLF001 - rather than to wait for it
    second._scan()  # noqa: SLF001
    assert end_of(ended(second, key_of())).reason == "Completed"
    assert output_of(second, key_of()) == ""
    second.close()


def test_deadlines_are_by_the_clock_of_the_server(host: AgentHost, tmp_path: Path) -> None:
    """The clock of this host is an hour ahead of the server's."""
    saving = f"trap 'sleep 0.2; echo saved > {tmp_path}/saved; exit 0' TERM; echo up"
    host.start(plan_of(key_of(), shell(f"{saving}; while :; do sleep 0.02; done")))
    lines(host, 1)
    server_time = wall_clock() - 3600 * MICROSECONDS_PER_SECOND
    host.keep_time(server_time)
    deadline = datetime.fromtimestamp(server_time / MICROSECONDS_PER_SECOND + 30, UTC).isoformat()
    host.signal(key_of(), StopOrder(id="e1", attempt=1, deadline=deadline))
    ended(host, key_of())
    assert (tmp_path / "saved").read_text() == "saved\n"


def test_two_agents_never_share_a_directory(host: AgentHost, tmp_path: Path) -> None:
    with pytest.raises(AlreadyRuns):
        host_of(tmp_path)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (template_of("no-such-command"), "command no-such-command is not found"),
        (template_of("true", container={"workingDir": "/no/such"}), "workingDir /no/such"),
        (template_of(), "command is missing"),
        ({"spec": {"containers": [{}, {}]}}, "spec.containers has 2 entries"),
    ],
)
def test_a_pod_that_cannot_start_says_why(
    host: AgentHost, template: dict[str, object], reason: str
) -> None:
    with pytest.raises(CannotStart, match=reason):
        host.start(plan_of(key_of(), template))
    assert host.observe() == {}


def test_a_command_that_is_no_program_fails_to_start(host: AgentHost, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    host.start(plan_of(key_of(), template_of(str(tmp_path / "data"))))
    end = end_of(ended(host, key_of()))
    assert end.reason == "StartFailed"
    assert "Permission denied" in end.message


def test_a_pod_as_root_must_be_permitted(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only an agent that runs as root could run a pod as root")
    host = host_of(tmp_path, allow_root=False)
    with pytest.raises(CannotStart, match="would run as root"):
        host.start(plan_of(key_of(), template_of("true")))
    host.close()


def test_a_pod_runs_as_the_account_of_its_owner_without_new_privileges(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only an agent that runs as root changes accounts")
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o011 != 0o011:
            directory.chmod(0o711)
    host = host_of(tmp_path, allow_root=False, accounts={"ada": "nobody"})
    told = "id -un; cat $HEADGATE_HOSTFILE; grep NoNewPrivs /proc/self/status; touch mine"
    host.start(plan_of(key_of(), shell(told)))
    assert end_of(ended(host, key_of())).reason == "Completed"
    assert output_of(host, key_of()).split() == ["nobody", "host-1", "NoNewPrivs:", "1"]
    host.close()


def test_an_empty_directory_is_mounted_for_its_pod_alone(host: AgentHost, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only an agent that runs as root mounts volumes")
    target = tmp_path / "scratch"
    target.mkdir()
    mounts = {"volumeMounts": [{"name": "scratch", "mountPath": str(target)}]}
    template = template_of(
        "sh", "-c", f"echo x > {target}/file; cat {target}/file", container=mounts
    )
    template["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    host.start(plan_of(key_of(), template))
    assert end_of(ended(host, key_of())).reason == "Completed"
    assert output_of(host, key_of()) == "x\n"
    assert list(target.iterdir()) == []


def test_the_agent_does_not_show_its_own_environment_to_pods(
    host: AgentHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "secret-of-the-agent")
    template = shell("env; tr '\\0' '\\n' < /proc/$PPID/environ")
    host.start(plan_of(key_of(), template))
    ended(host, key_of())
    assert "secret-of-the-agent" not in output_of(host, key_of())


def test_what_many_shims_tell_while_the_agent_is_busy_is_not_lost(tmp_path: Path) -> None:
    wakes = WakeSocket(tmp_path)
    names = [f"run-{number}" for number in range(100)]
    for name in names:
        tell(wakes.name, name)
        # The kernel keeps ten; the thread takes each although the agent looks at none.
        assert wakes.wait(WAIT_SECONDS)
    assert list(wakes.received()) == names
    wakes.close()


def test_a_wake_before_the_wait_ends_it(tmp_path: Path) -> None:
    wakes = WakeSocket(tmp_path)
    wakes.wake()
    assert list(wakes.received()) == []
    assert wakes.wait(60.0)
    assert not wakes.wait(0.0)
    wakes.close()
