"""Agents that are killed, doubled, rebooted, out of disk or out of time."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.host import SECONDS_FOR_A_SHIM
from headgate.executor.substrates.agent.run_directory import Launch
from tests.executors.agent_process import AgentProcess
from tests.executors.bad_days.cases import Case, Seen, Site, Skipped
from tests.executors.bad_days.crashing_agent import CRASH_AT
from tests.executors.installation import Installation
from tests.executors.pods import shell, template_of

MAX_TIMES = 12
LEASE_SECONDS = 10
TMPFS_BYTES = 8 << 20
STEPPING = """
import os, time

def offset():
    with open(os.environ["CLOCK_OFFSET"]) as file:
        return int(file.read() or 0)

real_time, real_time_ns = time.time, time.time_ns
time.time = lambda: real_time() + offset()
time.time_ns = lambda: real_time_ns() + offset() * 10**9
"""
MNT_DETACH = 2


def killed_at_each_step(site: Site) -> Iterator[Seen]:
    """One workload for each step of a pod's life; the agent is killed there and started again.

    So it is for each of the times that a pod comes to a step.
    """
    made = site.installation
    made.pool("crashing")
    armed = made.directory / "crash-at"
    command = (sys.executable, "-m", "tests.executors.bad_days.crashing_agent")
    environment = {CRASH_AT: str(armed)}
    token = made.executor("crashing")
    agent = made.agent(
        "crashing", "crashing", token, command=command, environment=environment
    ).start()
    made.await_nodes("crashing")
    wrong, steps = "", []
    for step in _STEPS:
        times = 0
        while not wrong and times < MAX_TIMES:
            wrong, was_killed = _killed_at(site, agent, armed, f"{times + 1} {step}")
            if not was_killed:
                break
            times += 1
        steps += [step] if times else []
    wrong = wrong or _never_killed(steps)
    seen = site.seen("killed-at-1-before-write", agent, wrong=wrong)
    agent.end()
    yield Seen(f"{seen.state} at {len(steps)} steps", seen.reason, seen.leaked, seen.wrong)


_STEPS = tuple(
    f"{when} {what}"
    for what in ("write", "start_shim", "_write", "report", "send_logs", "rmtree")
    for when in ("before", "after")
)


def _killed_at(site: Site, agent: AgentProcess, armed: Path, step: str) -> tuple[str, bool]:
    """Kills the agent at a step of a pod: what is wrong, and whether the pod came to that step."""
    made = site.installation
    name = f"killed-at-{step}".replace(" _", "-journal-").replace(" ", "-").replace("_", "-")
    starts = made.directory / name
    _arm(armed, step)
    made.submit(name, "crashing", shell(f"echo x >> {starts}; echo out; exit 0"))
    made.eventually(
        partial(_has_gone, made, agent, name), "the agent has ended, or the pod is forgotten"
    )
    time.sleep(0.2)  # its last step comes after the pod has gone
    armed.unlink()
    was_killed = agent.has_ended()
    if was_killed:
        agent.start()
    end, started = made.await_end(name), starts.read_text()
    is_right = (end, started) == ("Succeeded", "x\n")
    return "" if is_right else f"{step}: {end}, started {started.count('x')} times", was_killed


def _arm(armed: Path, step: str) -> None:
    """Writes it whole, as the agent reads it at any time."""
    making = armed.with_suffix(".new")
    making.write_text(step)
    making.rename(armed)


def _never_killed(steps: list[str]) -> str:
    missing = [step for step in _STEPS if step not in steps]
    return f"not killed at {missing}" if missing else ""


def _has_gone(made: Installation, agent: AgentProcess, name: str) -> bool:
    """Whether the agent was killed, or has forgotten the pod without."""
    return agent.has_ended() or (made.phase(name) == "Succeeded" and not agent.runs())


def host_rebooted(site: Site) -> Iterator[Seen]:
    made = site.installation
    agent = made.started_agent("rebooted")
    made.submit("rebooted", "rebooted", template_of("sleep", "300"))
    made.await_phase("rebooted", "Running")
    agent.end(signal.SIGKILL)
    agent.kill_pods()
    for run in agent.runs():
        launch = files.read(run / files.LAUNCH, Launch)
        assert launch is not None
        earlier = msgspec.structs.replace(launch, boot_id="an earlier start of the host")
        files.write(run / files.LAUNCH, earlier)
    agent.start()
    made.await_phase("rebooted", "Failed", "Running")
    made.eventually(lambda: _has_ended(made, "rebooted"), "its first run has ended")
    first = made.pods("rebooted", attempt="1", runs="all")[0]
    if made.phase("rebooted") not in {"Failed", "Cancelled"}:
        made.act("rebooted", "cancel")
    made.await_end("rebooted")
    yield Seen(str(first["state"]), str(first["reason"]), made.leaked([agent]))
    agent.end()


def _has_ended(made: Installation, name: str) -> bool:
    pods = made.pods(name, attempt="1", runs="all")
    return bool(pods) and pods[0]["finishedAt"] is not None


def two_agents_of_one_name(site: Site) -> Iterator[Seen]:
    made = site.installation
    directory = made.directory / "doubled"
    directory.mkdir()
    script = (
        f"mkdir {directory}/lock || echo twice >> {directory}/twice; touch {directory}/up; "
        f"while ! [ -e {directory}/go ]; do sleep 0.05; done; rmdir {directory}/lock"
    )
    agent = made.started_agent("doubled")
    made.submit("doubled", "doubled", shell(script))
    made.eventually((directory / "up").exists, "it runs")
    token = made.token("doubled-second", "doubled")
    second = made.agent("doubled", "doubled", token).start()
    code = second.process.wait(60) if second.process else 0
    told = "another agent runs for executor doubled on this host"
    wrong = "" if code and told in second.said() else f"the second one said {second.said()!r}"
    # The second one takes over, in another directory; it waits until the pod of the first ends.
    agent.end(signal.SIGKILL)
    second.start()
    made.eventually(second.runs, "the second one has been told to run the pod")
    time.sleep(SECONDS_FOR_A_SHIM + 1.0)
    (directory / "go").touch()
    made.await_end("doubled")
    if (directory / "twice").exists():
        wrong = "the pod ran twice at once"
    second_left = made.leaked([second])
    second.end()
    agent.start()
    seen = site.seen("doubled", agent, wrong=wrong)
    yield Seen(seen.state, seen.reason, [*second_left, *seen.leaked], wrong)
    agent.end()


OTHER_HOST = """
import contextlib
import headgate.cli.commands.agent as agent
from headgate.cli.main import run

agent.boot_id = lambda: "another host"
agent.only_one = lambda name: contextlib.nullcontext()
run()
"""
"""The command line as on another host: another start of it, and locks of its own."""


def two_hosts_of_one_name(site: Site) -> Iterator[Seen]:
    """A second host takes the name once the lease of the first has ended, which has fenced."""
    made = site.installation
    place = made.directory / "two-hosts"
    place.mkdir()
    alone = f"exec 9> {place}/lock; flock -n 9 || echo twice >> {place}/twice"
    loop = f"while ! [ -e {place}/go ]; do sleep 0.05; done"
    agent = made.started_agent("two-hosts", leaseSeconds=LEASE_SECONDS, nodeLossPolicy="Fence")
    runs = shell(f"{alone}; echo $HEADGATE_ATTEMPT.$HEADGATE_RUN >> {place}/starts; {loop}")
    made.submit("two-hosts", "two-hosts", runs)
    made.eventually((place / "starts").exists, "it runs")
    token = made.token("two-hosts-second", "two-hosts")
    command = (sys.executable, "-c", OTHER_HOST)
    second = made.agent("two-hosts", "two-hosts", token, command=command).start()
    made.eventually(lambda: "Waiting for the executor" in second.said(), "the second one is told")
    time.sleep(LEASE_SECONDS + 5.0)
    wrong = "the second one took over" if second.runs() or agent.has_ended() else ""
    agent.end(signal.SIGKILL)
    starts = partial(_lines, place / "starts")
    made.eventually(lambda: starts()[1:], "it runs on the other host")
    (place / "go").touch()
    made.await_end("two-hosts")
    wrong = "the pod ran twice at once" if (place / "twice").exists() else wrong
    wrong = wrong if len(set(starts())) == len(starts()) else f"started as {starts()}"
    seen = site.seen("two-hosts", second, wrong=wrong)
    first_left = [f"process {pid}" for pid in agent.pids()]
    yield Seen(seen.state, seen.reason, [*first_left, *seen.leaked], seen.wrong)
    second.end()


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def disk_full(site: Site) -> Iterator[Seen]:
    made = site.installation
    with _small_disk(made.directory / "small") as disk:
        made.pool("small")
        options = ["--max-pods", "10"]
        token = made.executor("small")
        agent = made.agent("small", "small", token, options=options, directory=disk).start()
        made.await_nodes("small")
        go, up = made.directory / "full-go", made.directory / "full-up"
        script = f"touch {up}; while ! [ -e {go} ]; do sleep 0.05; done; echo out; exit 3"
        made.submit("runs-on", "small", shell(script))
        made.submit("is-stopped", "small", template_of("sleep", "300"))
        for name in ("runs-on", "is-stopped"):
            made.await_phase(name, "Running")
        first = agent.process.pid if agent.process else 0
        _fill(disk / "filler")
        made.submit("without-room", "small", template_of("true"))
        made.await_end("without-room")
        go.touch()
        made.act("is-stopped", "cancel")
        wrong = [_differs(made, name, *expected) for name, expected in _ON_A_FULL_DISK.items()]
        wrong += ["the agent has ended"] if agent.has_ended() else []
        wrong += [] if agent.process and agent.process.pid == first else ["it was started again"]
        (disk / "filler").unlink()
        made.submit("with-room", "small", template_of("true"))
        wrong.append(_differs(made, "with-room", "Succeeded", "Completed"))
        yield site.seen("without-room", agent, wrong="; ".join(filter(None, wrong)))
        agent.end()


_ON_A_FULL_DISK = {"runs-on": ("Failed", "Error"), "is-stopped": ("Cancelled", "None")}


def _differs(made: Installation, name: str, state: str, reason: str) -> str:
    end = made.await_end(name)
    (pod,) = made.pods(name)
    if (end, str(pod["reason"])) == (state, reason):
        return ""
    return f"{name} ended as {end}, {pod['reason']} {pod['message']}"


@contextmanager
def _small_disk(path: Path) -> Iterator[Path]:
    path.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={TMPFS_BYTES},mode=755".encode()
    if libc.mount(b"headgate", bytes(path), b"tmpfs", 0, options) != 0:
        raise Skipped(f"no tmpfs can be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        yield path
    finally:
        libc.umount2(bytes(path), MNT_DETACH)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                continue


def clock_steps(site: Site) -> Iterator[Seen]:
    """The clock of the host is set an hour ahead, then two back, while pods run and are stopped."""
    made = site.installation
    offset = made.directory / "offset"
    offset.write_text("0")
    made.pool("stepping")
    environment = {"PYTHONPATH": str(_stepping_python(made)), "CLOCK_OFFSET": str(offset)}
    token = made.executor("stepping", leaseSeconds=20, nodeLossPolicy="Fence")
    agent = made.agent("stepping", "stepping", token, environment=environment).start()
    made.await_nodes("stepping")
    wrong, name = [], ""
    for step in ("+3600", "-3600"):
        name = f"clock{step}".replace("+", "-ahead-").replace("--", "-back-")
        saved = made.directory / name
        saving = f"trap 'sleep 1; echo saved > {saved}; exit 0' TERM; echo up"
        script = f"{saving}; while :; do sleep 0.05; done"
        made.submit(name, "stepping", shell(script, terminationGracePeriodSeconds=20))
        made.await_phase(name, "Running")
        offset.write_text(step)
        time.sleep(12.0)
        wrong += [] if made.phase(name) == "Running" else [f"{name} is {made.phase(name)}"]
        made.act(name, "cancel")
        made.await_end(name)
        wrong += [] if saved.exists() else [f"{name} was killed before it had saved"]
        (pod,) = made.pods(name)
        if pod["finishedAt"] < pod["startedAt"]:
            wrong.append(f"{name} ended before it started")
    yield site.seen(name, agent, wrong="; ".join(wrong))
    agent.end()


def _stepping_python(made: Installation) -> Path:
    """A directory for PYTHONPATH that adds the seconds of a file to the interpreter's wall clock.

    Not libfaketime: 0.9.10 refuses the absolute sleeps of Python with EINVAL.
    """
    directory = made.directory / "stepping-python"
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(STEPPING)
    return directory


CASES = (
    Case([("disk full at the agent", "Failed", "StartFailed")], disk_full),
    Case([("clock steps by an hour", "Cancelled", "Stopped")], clock_steps),
    Case(
        [("the agent killed at each step", "Succeeded at 12 steps", "Completed")],
        killed_at_each_step,
    ),
    Case([("the host rebooted", "Failed", "NodeLost")], host_rebooted),
    Case([("two agents of one name", "Succeeded", "Completed")], two_agents_of_one_name),
    Case(
        [("two hosts of one name: Fence", "Succeeded", "Completed")],
        two_hosts_of_one_name,
    ),
)
