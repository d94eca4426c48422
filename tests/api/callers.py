"""A caller with a token, and the manifests that tests submit."""

from typing import Any

from httpx import Response
from litestar import Litestar
from litestar.testing import TestClient

ADMIN_SECRET = "admin-secret-of-the-tests"
KUEUE = "kueue.x-k8s.io/v1beta2"


class Api:
    """Sends JSON with a bearer token."""

    def __init__(self, client: "TestClient[Litestar]", secret: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {secret}"} if secret else {}

    def get(self, path: str, **headers: str) -> Response:
        return self.client.get(path, headers={**self.headers, **_header_names(headers)})

    def post(self, path: str, body: Any = None, **headers: str) -> Response:
        return self.client.post(path, json=body, headers={**self.headers, **_header_names(headers)})

    def put(self, path: str, body: Any, **headers: str) -> Response:
        return self.client.put(path, json=body, headers={**self.headers, **_header_names(headers)})

    def delete(self, path: str, **headers: str) -> Response:
        return self.client.delete(path, headers={**self.headers, **_header_names(headers)})

    def send(self, path: str, content: bytes, kind: str) -> Response:
        return self.client.post(
            path, content=content, headers={**self.headers, "Content-Type": kind}
        )

    def caught_up(self, path: str, position: int) -> Response:
        """Read what is derived, once it has seen a position."""
        joint = "&" if "?" in path else "?"
        return self.get(f"{path}{joint}minPosition={position}")


def _header_names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def flavor(name: str = "default", **spec: Any) -> dict[str, Any]:
    return _object("ResourceFlavor", name, spec)


def cluster_queue(name: str, cpu: str = "10", **spec: Any) -> dict[str, Any]:
    quota = {"name": "cpu", "nominalQuota": cpu}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}]
    return _object(
        "ClusterQueue", name, {"resourceGroups": groups, "namespaceSelector": {}, **spec}
    )


def admission_check(name: str) -> dict[str, Any]:
    return _object("AdmissionCheck", name, {"controllerName": "tests.example.com"})


def local_queue(name: str, cluster_queue: str, namespace: str = "team-a") -> dict[str, Any]:
    return _object("LocalQueue", name, {"clusterQueue": cluster_queue}, namespace)


def open_queue(admin: Api, name: str, local: str = "", **spec: Any) -> None:
    """A ClusterQueue of the default flavor, and the LocalQueue of team-a that leads to it."""
    admin.post("/v1/resourceflavors", flavor())
    made = admin.post("/v1/clusterqueues", cluster_queue(name, **spec))
    assert made.status_code == 201, made.text
    admin.post("/v1/namespaces/team-a/localqueues", local_queue(local or name, name))


def workload(
    name: str, namespace: str = "team-a", queue: str = "main", **spec: Any
) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    pod_sets = [{"name": "main", "count": 2, "template": {"spec": {"containers": containers}}}]
    return _object("Workload", name, {"queueName": queue, "podSets": pod_sets, **spec}, namespace)


def _object(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec}
