"""A Slurm cluster on this host for tests: munged, a controller and four nodes, all real.

The Debian packages that .ci/slurm.py installs have the programs.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.executor.substrates.slurm.cluster import SlurmCluster, SlurmSettings
from headgate.executor.substrates.slurm.command_line import SlurmCommands
from headgate.executor.substrates.slurm.nodes import NodeRules
from tests.executors.agent_process import kill

WANTED = "HEADGATE_TEST_SLURM"
SKIPPED = f"slurm: skipped (as root: python .ci/slurm.py, then {WANTED}=1)"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
SEARCH_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
NODES = 4
CPUS = 16
MEBIBYTES = 8000
WAIT_SECONDS = 180.0
FIRST_PORT = 17_300
MAX_CLUSTERS = 100

CONFIGURATION = """
ClusterName=headgate-test
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
MinJobAge=60
SlurmdTimeout={timeout}
KillWait=2
UnkillableStepTimeout=600
BatchStartTimeout=300
ReturnToService=1
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
GresTypes=gpu
NodeName=host-1 NodeHostname={host} Port={ports[0]} {size} Feature=rack-r1,fast Gres=gpu:a100:2
NodeName=host-2 NodeHostname={host} Port={ports[1]} {size} Feature=rack-r1
NodeName=host-3 NodeHostname={host} Port={ports[2]} {size} Feature=rack-r2
NodeName=host-4 NodeHostname={host} Port={ports[3]} {size} Feature=rack-r2
PartitionName=main Nodes=host-[1-4] Default=YES MaxTime=INFINITE State=UP
"""
GRES = "NodeName=host-1 Name=gpu Type=a100 File=/dev/tty[1-2]\n"


class SlurmTestCluster:
    """Daemons below one directory; each may be killed and started again."""

    def __init__(
        self,
        root: Path,
        ports: Sequence[int],
        *,
        cpus: int = CPUS,
        mebibytes: int = MEBIBYTES,
        node_timeout_seconds: int = 30,
    ) -> None:
        self.root = root
        self.configuration = root / "slurm.conf"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {
            "PATH": SEARCH_PATH,
            "SLURM_CONF": str(self.configuration),
            "LC_ALL": "C",
        }
        size = f"CPUs={cpus} RealMemory={mebibytes}"
        (root / "munge").mkdir(parents=True)
        (root / "state").mkdir()
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            root=root,
            port=ports[0],
            ports=ports[1:],
            size=size,
            timeout=node_timeout_seconds,
        )
        self.configuration.write_text(text)
        (root / "gres.conf").write_text(GRES)
        self.commands = SlurmCommands(
            configuration=str(self.configuration), search_path=SEARCH_PATH
        )

    def start(self) -> "SlurmTestCluster":
        """Starts all daemons, and returns once the nodes are idle."""
        key = self.root / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = self.root / "munge"
        options = {"key-file": key, "socket": munge / "socket", "pid-file": munge / "pid"}
        options |= {"log-file": munge / "log", "seed-file": munge / "seed"}
        flags = [f"--{name}={value}" for name, value in options.items()]
        self._run("munged", "munged", "--foreground", "--force", *flags)
        self._until((munge / "socket").exists, "munged")
        self.start_controller()
        for number in range(1, NODES + 1):
            self.start_node(number)
        self._until(self.is_idle, "the nodes")
        return self

    def start_controller(self) -> None:
        """Starts the controller with the state that it had."""
        self._run("slurmctld", "slurmctld", "-D")

    def start_node(self, number: int) -> None:
        """Starts the daemon of a node."""
        self._run(f"slurmd-{number}", "slurmd", "-D", "-N", f"host-{number}")

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends a daemon by its name: `slurmctld`, or `slurmd-1` and its neighbours."""
        process = self._processes.pop(name)
        process.send_signal(number)
        process.wait(WAIT_SECONDS)

    def run(self, *command: str) -> str:
        """Runs a command of Slurm; its output."""
        done = subprocess.run(
            command, env=self._environment, check=False, capture_output=True, text=True,
            timeout=WAIT_SECONDS, cwd=self.root,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def told(self) -> str:
        """Jobs and nodes as Slurm lists them, for the message of a failed test."""
        jobs = self.run("squeue", "-t", "all", "-o", "%i %j %T %r %N")
        return jobs + self.run("sinfo", "-N", "-o", "%N %T %E")

    def is_idle(self, prefix: str = "") -> bool:
        """Whether all nodes are up without jobs, or without those of such a name.

        A controller that was killed may have found jobs again which had ended long before.
        """
        wanted = {"idle", "mixed", "allocated"} if prefix else {"idle"}
        try:
            states = self.run("sinfo", "-h", "-N", "-o", "%T").split()
            names = self.run("squeue", "-h", "-o", "%j").splitlines()
            is_up = len(states) == NODES and set(states) <= wanted
            return is_up and not any(name.startswith(prefix) for name in names)
        except AssertionError:  # the controller starts
            return False

    def state_of(self, job: str) -> str:
        """The state of a job by its number."""
        return self.run("squeue", "-h", "-t", "all", "-o", "%T", "-j", job).strip()

    def is_idle_again(self, prefix: str = "") -> bool:
        """Whether all is idle once an administrator has seen to nodes that are drained or down.

        Slurm drains a node on which a job still runs that it wants to start, having forgotten it.
        """
        with contextlib.suppress(AssertionError):  # the controller starts, or nothing is drained
            drained = self.run("sinfo", "-h", "-N", "-t", "drain,down", "-o", "%N").split()
            for node in drained:
                self.run("scontrol", "update", f"nodename={node}", "state=resume")
        return self.is_idle(prefix)

    def until_restored(self) -> None:
        """Returns once all nodes are idle, and no process of an earlier job is left on them.

        A controller that was killed gives numbers of jobs again that it has forgotten: a node on
        which a process of the earlier job is left is drained as of a duplicate number.
        """
        self._until(self._is_restored, "the nodes")

    def _is_restored(self) -> bool:
        """Ends jobs of earlier tests, which nothing else would end, until none is left."""
        if not self._steps() and self.is_idle_again():
            return True
        with contextlib.suppress(AssertionError):  # the controller starts
            self.run("scancel", "--user=root")
        return False

    def substrate(self, directory: Path, **settings: Any) -> SlurmCluster:
        """The substrate of an executor, with times that suit tests."""
        given = SlurmSettings(
            directory=directory,
            nodes=NodeRules(executor="slurm", partition="main", levels={"rack-": "topology-rack"}),
            rules=PodRules(allow_root=True, search_path=SEARCH_PATH),
            poll_seconds=0.2,
            news_seconds=0.02,
            look_seconds=1.0,
            settle_seconds=1.0,
            lost_seconds=10.0,
            launch_seconds=30.0,
        )
        return SlurmCluster(msgspec.structs.replace(given, **settings), self.commands)

    def end(self) -> None:
        """Ends all jobs, then all daemons; munged last, as the others end by its means."""
        with contextlib.suppress(subprocess.SubprocessError, AssertionError):
            self.run("scancel", "--user=root")
            self._until(lambda: not self.run("squeue", "-h"), "an empty queue")
        for process in reversed(self._processes.values()):
            process.kill()
            process.wait(WAIT_SECONDS)
        self._processes.clear()
        kill(self._left())

    def _steps(self) -> list[int]:
        """The processes of jobs among those of this cluster."""
        return [each for each in self._left() if "slurmstepd" in _command_of(each)]

    def _left(self) -> list[int]:
        """Processes of jobs that a killed controller has forgotten: they wait for it for long."""
        mark = os.fsencode(f"SLURM_CONF={self.configuration}\0")
        found = []
        for each in psutil.pids():
            with contextlib.suppress(OSError):
                if each != os.getpid() and mark in Path(f"/proc/{each}/environ").read_bytes():
                    found.append(each)
        return found

    def _run(self, name: str, *command: str) -> None:
        with (self.root / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, cwd=self.root,
            )  # fmt: skip

    def _until(self, look: Callable[[], bool], what: str) -> None:
        give_up_at = time.monotonic() + WAIT_SECONDS
        while not look():
            if time.monotonic() > give_up_at:
                said = [path.read_text()[-2000:] for path in self.root.glob("*.out")]
                raise AssertionError(f"{what}: not within {WAIT_SECONDS:g} s: {said}")
            time.sleep(0.1)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def lacking() -> list[str]:
    """Programs that are not installed."""
    return [each for each in PROGRAMS if shutil.which(each, path=SEARCH_PATH) is None]


def is_wanted() -> bool:
    """Whether tests are to run over Slurm, as continuous integration has it."""
    return bool(os.environ.get(WANTED))


@contextlib.contextmanager
def slurm_cluster(
    root: Path, *, cpus: int = CPUS, mebibytes: int = MEBIBYTES
) -> Iterator[SlurmTestCluster]:
    """A cluster that ends with its context, with nodes of a size."""
    with reserved_ports(NODES + 1) as ports:
        made = SlurmTestCluster(root, ports, cpus=cpus, mebibytes=mebibytes)
        try:
            yield made.start()
        finally:
            made.end()


@contextlib.contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Ports that no other cluster of tests on this host has, and no connection gets by itself.

    A daemon that is killed must find its port again, so these lie below the range from which the
    kernel gives ports to connections.
    """
    for first in range(FIRST_PORT, FIRST_PORT + MAX_CLUSTERS * count, count):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mark:
            try:
                mark.bind(f"\0headgate-test-slurm-{first}")
            except OSError:
                continue
            ports = list(range(first, first + count))
            if all(map(_is_free, ports)):
                yield ports
                return
    raise AssertionError("no ports are free for a Slurm cluster")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
