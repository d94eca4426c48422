"""A Ray cluster on this host for tests: two nodes, all real, in a virtual environment of its own.

Ray is not among the packages of Headgate: it takes 41 s and 380 MB to install. The environment is
made once below `.headgate`, or `HEADGATE_TEST_RAY` names the directory of one that has Ray.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.run_directory import Started
from headgate.executor.substrates.ray.cluster import RayCluster, RaySettings
from headgate.executor.substrates.ray.dashboard import Dashboard, RayAway
from headgate.executor.substrates.ray.jobs import folder_of
from headgate.executor.substrates.ray.pod import STARTED
from headgate.executor.substrates.ray.wrapper import HOST_LABEL
from tests.architecture.sources import ROOT

WANTED = "HEADGATE_TEST_RAY"
RAY = "ray[default]==2.60.0"
SECONDS_TO_START = 180.0
SECONDS_TO_INSTALL = 1200.0
ATTEMPTS = 4
CPUS = 16


class NodeNotStarted(Exception):
    """A node of Ray was not up in time, as on a host under load."""


class RayTestCluster:
    """The head and another node, as hosts host-1 and host-2."""

    def __init__(self, environment: Path, root: Path) -> None:
        self._program = environment / "bin" / "ray"
        self._root = root
        self._environment = {
            "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
            "HOME": str(root),
            "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
            "RAY_memory_monitor_refresh_ms": "0",
        }
        self.url = ""
        self._executor = ""

    def start(self) -> "RayTestCluster":
        """Starts both nodes, again where Ray gives up on one, as it does after 30 seconds."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._start_nodes()
            except NodeNotStarted:
                self.end()
        return self._start_nodes()

    def _start_nodes(self) -> "RayTestCluster":
        """Starts both nodes, and returns once the dashboard knows them."""
        port, dashboard = _free_port(), _free_port()
        self.url = f"http://127.0.0.1:{dashboard}"
        self._start(
            "host-1",
            "--head",
            f"--port={port}",
            f"--dashboard-port={dashboard}",
            "--dashboard-host=127.0.0.1",
            f"--temp-dir={self._root}",
        )
        self._start("host-2", f"--address=127.0.0.1:{port}")
        give_up_at = time.monotonic() + SECONDS_TO_START
        with contextlib.closing(Dashboard(self.url)) as client:
            while True:
                with contextlib.suppress(RayAway):
                    if len([node for node in client.nodes() if HOST_LABEL in node.labels]) == 2:
                        return self
                assert time.monotonic() < give_up_at, "the nodes of Ray did not come"
                time.sleep(0.5)

    def substrate(self, directory: Path, **settings: Any) -> RayCluster:
        """The substrate of an executor, with times that suit tests.

        Each directory has an executor of its own, as tests run pods of equal names.
        """
        self._executor = f"ray-{sha256(str(directory).encode()).hexdigest()[:8]}"
        given = RaySettings(
            directory=directory,
            executor=self._executor,
            poll_seconds=0.3,
            settle_seconds=3.0,
            launch_seconds=120.0,
        )
        made = RayCluster(msgspec.structs.replace(given, **settings), Dashboard(self.url))
        made.nodes()
        return made

    def started(self, run: str) -> Started | None:
        """The first process of a run, once there is one."""
        logs = self._root / "session_latest" / "logs" / folder_of(self._executor)
        return files.read(logs / run / STARTED, Started)

    def end(self) -> None:
        """Ends what this cluster has started: processes with its directory in their command."""
        for each in Path("/proc").iterdir():
            if each.name.isdecimal() and int(each.name) != os.getpid():
                with contextlib.suppress(OSError):
                    text = (each / "cmdline").read_bytes() + (each / "environ").read_bytes()
                    if os.fsencode(str(self._root)) in text:
                        os.kill(int(each.name), 9)

    def _start(self, host: str, *options: str) -> None:
        common = (
            f"--num-cpus={CPUS}",
            "--num-gpus=0",
            f"--labels={HOST_LABEL}={host},topology-rack=r1",
            # Both nodes are on this host, and the usual port is for one.
            f"--dashboard-agent-listen-port={_free_port()}",
            "--node-ip-address=127.0.0.1",
            "--object-store-memory=80000000",
            "--disable-usage-stats",
        )
        done = subprocess.run(
            [str(self._program), "start", *options, *common],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_START,
            check=False,
        )
        if done.returncode != 0:
            raise NodeNotStarted(done.stdout[-2000:] + done.stderr[-2000:])


def ray_environment() -> Path:
    """Returns a virtual environment with Ray; makes it if there is none."""
    given = os.environ.get(WANTED, "")
    directory = Path(given) if given else ROOT / ".headgate" / "ray"
    if not (directory / "bin" / "ray").exists():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
        command = [str(directory / "bin" / "python"), "-m", "pip", "install", "-q", RAY]
        subprocess.run(command, check=True, timeout=SECONDS_TO_INSTALL)
    return directory


@contextlib.contextmanager
def ray_cluster() -> Iterator[RayTestCluster]:
    """A cluster that ends with its context; names of Ray's sockets must be short."""
    root = Path(tempfile.mkdtemp(prefix="hgr-"))
    made = RayTestCluster(ray_environment(), root)
    try:
        yield made.start()
    finally:
        made.end()
        shutil.rmtree(root, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
