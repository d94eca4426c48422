"""A dashboard of Ray for fast tests: it answers as Ray 2.60 does, and runs ranks by itself.

Jobs are unpacked, and their ranks run as processes by the very file that nodes of Ray get. What is
left out is Ray's own part: placement groups, actors and their scheduling. Answers have the forms
that the real cluster gives in the nightly run of the contract; a request that the double does not
know fails the test.
"""

import io
import json
import multiprocessing
import signal
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.run_directory import Started
from headgate.executor.substrates.ray import pod, wrapper
from headgate.executor.substrates.ray.cluster import RayCluster, RaySettings
from headgate.executor.substrates.ray.dashboard import Dashboard
from headgate.executor.substrates.ray.jobs import folder_of

HOSTS = ("host-1", "host-2")
CPUS = 16.0
VERSION = "2.60.0"
FORK = multiprocessing.get_context("fork")


class RayDouble:
    """Two nodes and their dashboard."""

    def __init__(self, root: Path, *, cpus: float = CPUS) -> None:
        self._cpus = float(cpus)
        self.has_processes = True
        self._logs = root / "logs"
        self._logs.mkdir(parents=True)
        self._packages: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.hosts = list(HOSTS)
        self.submits = 0
        self.is_away = False
        self.use = ""
        self._ranks: dict[str, dict[str, BaseProcess]] = {}
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET")

            def do_PUT(self) -> None:
                self._answer("PUT")

            def do_POST(self) -> None:
                self._answer("POST")

            def do_DELETE(self) -> None:
                self._answer("DELETE")

            def log_message(self, *_: object) -> None:
                return

            def _answer(self, method: str) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                status, content = double.answer(method, url.path, query, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def substrate(self, directory: Path, **settings: Any) -> RayCluster:
        """The substrate of an executor, with times that suit tests."""
        given = RaySettings(
            directory=directory, executor="ray", poll_seconds=0.02, settle_seconds=0.3
        )
        made = RayCluster(msgspec.structs.replace(given, **settings), Dashboard(self.url))
        made.nodes()
        return made

    def started(self, run: str) -> Started | None:
        """The first process of a run, once there is one."""
        return files.read(self._logs / folder_of("ray") / run / pod.STARTED, Started)

    def kill_worker(self, run: str) -> None:
        """Kills the process of Ray that supervises a rank, as the system does without memory."""
        for ranks in self._ranks.values():
            if run in ranks:
                ranks[run].kill()
                ranks[run].join()

    def end(self) -> None:
        """Ends all ranks and the dashboard."""
        for ranks in self._ranks.values():
            for process in ranks.values():
                if process.is_alive():
                    process.kill()
                process.join()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(
        self, method: str, path: str, query: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """The status and the content of an answer."""
        if self.is_away:
            return 503, b"the head restarts"
        match [method, *path.strip("/").split("/")]:
            case ["GET", "nodes"]:
                return 200, json.dumps({"result": True, "data": self._nodes()}).encode()
            case ["GET", "api", "version"]:
                return 200, json.dumps({"ray_version": VERSION}).encode()
            case ["GET", "api", "packages", "gcs", name]:
                return (200, b"") if name in self._packages else (404, b"does not exist")
            case ["PUT", "api", "packages", "gcs", name]:
                self._packages[name] = body
                return 200, b""
            case ["GET", "api", "jobs"]:
                self._look()
                return 200, json.dumps(list(self.jobs.values())).encode()
            case ["POST", "api", "jobs"]:
                return self._submit(json.loads(body))
            case ["POST", "api", "jobs", name, "stop"]:
                return self._stop(name)
            case ["DELETE", "api", "jobs", name]:
                del self.jobs[name]
                return 200, b'{"deleted": true}'
            case ["GET", "api", "v0", "logs"]:
                assert query["node_id"] in self._ids().values(), query
                found = [
                    str(each.relative_to(self._logs)) for each in self._logs.glob(query["glob"])
                ]
                return 200, json.dumps({"data": {"result": {"internal": found}}}).encode()
            case ["GET", "api", "v0", "logs", "file"]:
                file = self._logs / query["filename"]
                if not file.is_file():
                    return 500, f"A file is not found at: {file}".encode()
                return 200, file.read_bytes()
            case _:
                pass
        raise AssertionError(f"the double does not know {method} {path} {query}")

    def _ids(self) -> dict[str, str]:
        return {host: f"id-of-{host}" for host in self.hosts}

    def _nodes(self) -> dict[str, Any]:
        summary = [
            {
                "ip": "127.0.0.1",
                "raylet": {
                    "nodeId": number,
                    "state": "ALIVE",
                    "labels": {wrapper.HOST_LABEL: host, "ray.io/node-id": number},
                    "resourcesTotal": {"CPU": self._cpus, "memory": float(8 << 30)},
                },
            }
            for host, number in self._ids().items()
        ]
        return {
            "summary": summary,
            "nodeLogicalResources": dict.fromkeys(self._ids().values(), self.use),
        }

    def _submit(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        name = asked["submission_id"]
        if name in self.jobs:
            return 500, f"ValueError: Job with submission_id {name} already exists.".encode()
        content = self._packages[asked["runtime_env"]["working_dir"].removeprefix("gcs://")]
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert sorted(archive.namelist()) == ["headgate_job.py", "headgate_pod.py", "job.json"]
            job = json.loads(archive.read("job.json"))
        if asked["entrypoint"].endswith(" order"):
            for order in json.loads(asked["runtime_env"]["env_vars"][wrapper.ORDERS]):
                for run in order["runs"]:
                    self._give(job, run, order["order"])
            status = "SUCCEEDED"
        else:
            self.submits += 1
            if self.has_processes:
                self._ranks[name] = {run["name"]: self._start(job, run) for run in job["runs"]}
            else:
                self._pretend(job)
            status = "RUNNING"
        self.jobs[name] = {
            "submission_id": name,
            "status": status,
            "message": "",
            "driver_node_id": self._ids()[self.hosts[0]],
            "metadata": asked["metadata"],
        }
        return 200, json.dumps({"submission_id": name}).encode()

    def _start(self, job: dict[str, Any], run: dict[str, Any]) -> BaseProcess:
        directory = self._logs / job["directory"] / run["name"]
        directory.mkdir(parents=True, exist_ok=True)
        process = FORK.Process(target=pod.supervise, args=(directory, run))
        process.start()
        return process

    def _pretend(self, job: dict[str, Any]) -> None:
        """Writes what supervisors write of pods that run."""
        for run in job["runs"]:
            directory = self._logs / job["directory"] / run["name"]
            directory.mkdir(parents=True)
            at = int(time.time() * pod.MICROSECONDS)
            pod.write(directory / pod.STARTED, {"pid": 1, "at": at})

    def _give(self, job: dict[str, Any], run: str, order: dict[str, Any]) -> None:
        directory = self._logs / job["directory"] / run
        if directory.is_dir():
            pod.write(directory / pod.ORDER, order)

    def _stop(self, name: str) -> tuple[int, bytes]:
        for run, process in self._ranks.get(name, {}).items():
            directory = self._logs / folder_of("ray") / run
            order = {"reason": "Evicted", "signal": int(signal.SIGKILL), "kill_at": 0.0}
            pod.write(directory / pod.ORDER, order)
            process.join(3.0)
        self.jobs[name]["status"] = "STOPPED"
        return 200, b'{"stopped": true}'

    def _look(self) -> None:
        for name, ranks in self._ranks.items():
            job = self.jobs.get(name)
            is_over = not any(process.is_alive() for process in ranks.values())
            if job is not None and job["status"] == "RUNNING" and is_over:
                job["status"] = "SUCCEEDED"
