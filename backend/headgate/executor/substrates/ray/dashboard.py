"""The API of Ray's dashboard: nodes, jobs, packages of jobs, and files below the logs of nodes.

Plain HTTP with the forms of Ray 2.60. Jobs and packages are the API of Ray's own job client, nodes
and files that of its `ray list` and `ray logs`.
"""

import re
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from headgate.domain.values.quantities import Requests
from headgate.executor.substrate import NodeDescription
from headgate.executor.substrates.agent.inventory import GPU

SECONDS_FOR_A_REQUEST = 20.0
FINAL_STATUSES = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
GIVEN_LABELS = frozenset({"ray.io/node-id"})
"""Labels that are new in each start of a node."""
MILLI = 1000
ALREADY_EXISTS = "already exists"
NO_FILE = "A file is not found"
_USE = re.compile(r"^([\d.]+)([A-Za-z]*)/[\d.]+[A-Za-z]* (\S+)")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class RayAway(Exception):
    """The dashboard does not answer; what was asked for is to be asked again."""


class RayRefused(Exception):
    """Ray refused what was asked for; the text says why, for the user."""


class RayNode(msgspec.Struct, frozen=True, kw_only=True):
    """A living node: resources in Ray's units, and how much of them tasks and actors have."""

    id: str
    address: str
    labels: dict[str, str] = {}
    resources: dict[str, float] = {}
    used: dict[str, float] = {}


class RayJob(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted job, and the node of its driver once that has one."""

    submission_id: str
    status: str
    message: str = ""
    driver_node_id: str = ""
    metadata: dict[str, str] = {}

    @property
    def is_final(self) -> bool:
        """Whether its driver has ended."""
        return self.status in FINAL_STATUSES


def describe_node(
    host: str, node: RayNode, labels: Mapping[str, str], own: Requests
) -> NodeDescription:
    """Returns a node by the name of its host, with what of it is used beyond `own` requests."""
    units = {"CPU": ("cpu", MILLI, "m"), "memory": ("memory", 1, ""), "GPU": (GPU, 1, "")}
    capacity, others = {}, {}
    for resource, (name, scale, unit) in units.items():
        total = round(node.resources.get(resource, 0) * scale)
        used = round(node.used.get(resource, 0) * scale) - own.get(name, 0)
        if total or resource != "GPU":
            capacity[name], others[name] = f"{total}{unit}", f"{max(0, used)}{unit}"
    capacity["pods"] = str(max(1, round(node.resources.get("CPU", 0))))
    known = {key: value for key, value in node.labels.items() if key not in GIVEN_LABELS}
    return NodeDescription(
        name=host, capacity=capacity, used_by_others=others, labels={**known, **labels}
    )


class Dashboard:
    """Speaks to one dashboard; may be used by several threads."""

    def __init__(self, url: str, *, token: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url
        self._client = httpx.Client(base_url=url, headers=headers, timeout=SECONDS_FOR_A_REQUEST)

    def version(self) -> str:
        """Returns the version of Ray."""
        return str(self._object("/api/version")["ray_version"])

    def nodes(self) -> list[RayNode]:
        """Returns the nodes that live."""
        data = self._object("/nodes", view="summary")["data"]
        used = data.get("nodeLogicalResources") or {}
        found = []
        for entry in data["summary"]:
            node = entry["raylet"]
            if node.get("state") == "ALIVE":
                made = RayNode(
                    id=node["nodeId"],
                    address=str(entry.get("ip") or node.get("nodeManagerAddress", "")),
                    labels=node.get("labels") or {},
                    resources=node.get("resourcesTotal") or {},
                    used=_used(used.get(node["nodeId"], "")),
                )
                found.append(made)
        return found

    def jobs(self) -> dict[str, RayJob]:
        """Returns the submitted jobs that Ray knows, by their submission id."""
        found = {}
        for job in self._ask("GET", "/api/jobs/").json():
            if job.get("submission_id"):
                made = RayJob(
                    submission_id=job["submission_id"],
                    status=job["status"],
                    message=job.get("message") or "",
                    driver_node_id=job.get("driver_node_id") or "",
                    metadata=job.get("metadata") or {},
                )
                found[made.submission_id] = made
        return found

    def upload(self, name: str, content: bytes) -> str:
        """Keeps a package for jobs, unless Ray has it, and returns its URI."""
        path = f"/api/packages/gcs/{name}"
        if self._answer("GET", path).status_code != httpx.codes.OK:
            self._ask("PUT", path, content=content)
        return f"gcs://{name}"

    def submit(
        self,
        submission_id: str,
        entrypoint: str,
        *,
        package: str,
        variables: Mapping[str, str],
        metadata: Mapping[str, str],
    ) -> None:
        """Submits a job; one that was submitted with this id is that job."""
        environment: dict[str, Any] = {"working_dir": package, "env_vars": dict(variables)}
        body = {
            "entrypoint": entrypoint,
            "submission_id": submission_id,
            "runtime_env": environment,
            "metadata": dict(metadata),
        }
        answer = self._answer("POST", "/api/jobs/", json=body)
        if answer.is_success or ALREADY_EXISTS in answer.text:
            return
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise RayRefused(_last_line(answer.text))
        raise RayAway(_last_line(answer.text))

    def stop(self, submission_id: str) -> None:
        """Ends a job: its driver has 3 seconds to end the pods."""
        self._ask("POST", f"/api/jobs/{submission_id}/stop", json={})

    def delete(self, submission_id: str) -> None:
        """Has Ray forget a job that has ended."""
        self._ask("DELETE", f"/api/jobs/{submission_id}")

    def list_files(self, node: str, pattern: str) -> list[str]:
        """Returns the names of files below the logs of a node; folders end in a slash."""
        answer = self._object("/api/v0/logs", node_id=node, glob=pattern)
        groups = answer["data"]["result"]
        return [name for names in groups.values() for name in names]

    def read_file(self, node: str, name: str) -> bytes | None:
        """Returns a file below the logs of a node; None where there is none."""
        query = {"node_id": node, "filename": name, "lines": "-1"}
        answer = self._answer("GET", "/api/v0/logs/file", params=query)
        if answer.is_success:
            return answer.content
        if NO_FILE in answer.text:
            return None
        raise RayAway(_last_line(answer.text))

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _object(self, path: str, **query: str) -> Any:  # noqa: ANN401 - what Ray answers
        return self._ask("GET", path, params=query).json()

    def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401
        answer = self._answer(method, path, **request)
        if answer.is_success:
            return answer
        text = f"{path}: {answer.status_code} {_last_line(answer.text)}"
        raise RayAway(text) if answer.is_server_error else RayRefused(text)

    def _answer(self, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401
        try:
            return self._client.request(method, path, **request)
        except httpx.TransportError as failure:
            raise RayAway(f"{self.url}: {failure}") from failure


def _used(text: str) -> dict[str, float]:
    """Returns what is used by resource, of lines as `1.5/4.0 CPU` and `2GiB/14.2GiB memory`."""
    found = {}
    for line in text.splitlines():
        if match := _USE.match(line):
            found[match[3]] = float(match[1]) * _BYTES.get(match[2], 1)
    return found


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:500] if lines else ""
