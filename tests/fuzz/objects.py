"""Real objects for the contract run, and their names as schemathesis' configuration has them.

Names that are drawn at random reach a 404 and nothing behind it. Each operation on a workload has
one of its own, so that no operation takes what another needs; deletions have copies of the objects
that the others read. Names of no object are still drawn, one time in five.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import count
from typing import Any

import httpx

from tests.processes.programs import wait_until

NAMESPACE = "contract"
KNOWN = 0.8
"""The probability that a name is one of an object that exists."""
SPARE_COUNT = 12
"""Copies of each object that is deleted by the run."""
WORKLOAD = "/v1/namespaces/{namespace}/workloads/{name}"
COPIES_OF_WORKLOAD = 6
UPLOAD = b"contract"
ARCHIVE = sha256(UPLOAD).hexdigest()

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: contract}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: contract}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: contract}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: contract, resources: [{name: cpu, nominalQuota: 1000}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: contract, namespace: contract}
spec: {clusterQueue: contract}
---
apiVersion: v1
kind: LimitRange
metadata: {name: contract, namespace: contract}
spec: {limits: [{type: Container, max: {cpu: 100}}]}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: contract}
handler: contract
---
apiVersion: headgate.dev/v1
kind: Executor
metadata: {name: contract}
---
apiVersion: headgate.dev/v1
kind: DisruptionBudget
metadata: {name: contract, namespace: contract}
spec: {selector: {matchLabels: {for: contract}}, minAvailable: 0}
"""
BODIES: dict[str, dict[str, Any]] = {
    "/v1/tokens": {"role": "viewer"},
    "/v1/serviceaccounts": {"grants": [{"role": "viewer"}]},
}
"""What is sent to make an object beside its name, where that is no manifest."""
UNIQUE = ("/v1/configurations",)


class Objects:
    """Makes objects through the API of an installation, and names them by operation.

    `parameters` has for each operation its parameters as `path.name`, each with its values.
    """

    def __init__(self, http: httpx.Client, document: dict[str, Any]) -> None:
        self._http = http
        self._paths: dict[str, dict[str, Any]] = document["paths"]
        self._numbers = count()
        self.parameters: dict[str, dict[str, list[str]]] = defaultdict(dict)

    def make(self) -> None:
        """Makes all objects; those of the demo are named as well."""
        of_demo = ("/v1/topologies", "/v1/cycles")
        wait_until(lambda: all(self._http.get(path).json()["items"] for path in of_demo), "a demo")
        self._apply(OBJECTS)
        for collection, body in BODIES.items():
            made = {**body, "name": f"contract-{len(collection)}"}
            self._http.post(collection, json=made).raise_for_status()
        uploaded = f"/v1/namespaces/{NAMESPACE}/uploads/{ARCHIVE}"
        self._http.put(uploaded, content=UPLOAD).raise_for_status()
        for path, operations in self._paths.items():
            if path.startswith(WORKLOAD):
                self._workloads_of(path, operations)
            elif "{" in path:
                self._objects_of(path, operations)
        for path, operations in self._paths.items():
            for method in operations:
                self._others(f"{method.upper()} {path}", operations[method])

    def configuration(self) -> str:
        """The values of parameters in the form of `schemathesis.toml`."""
        return "\n".join(self._sections())

    def _sections(self) -> Iterator[str]:
        for number, (operation, parameters) in enumerate(sorted(self.parameters.items())):
            bound = []
            for place, (name, values) in enumerate(parameters.items()):
                dictionary = f"d{number}-{place}"
                yield f"[dictionaries.{dictionary}]\nvalues = {json.dumps(values)}"
                probability = f"probability = {KNOWN}"
                bound.append(f'"{name}" = {{ dictionary = "{dictionary}", {probability} }}')
            listed = "\n".join(bound)
            yield f'[[operations]]\ninclude-name = "{operation}"\n[operations.parameters]\n{listed}'

    def _apply(self, manifests: str) -> None:
        kind = {"Content-Type": "application/yaml"}
        applied = self._http.post("/v1/apply", content=manifests, headers=kind)
        position = applied.raise_for_status().headers["X-Log-Position"]
        self._http.get("/v1/system", params={"minPosition": position}).raise_for_status()

    def _workloads_of(self, path: str, operations: Iterable[str]) -> None:
        for method in operations:
            made = [self._submitted() for _ in range(COPIES_OF_WORKLOAD)]
            own = self.parameters[f"{method.upper()} {path}"]
            own["path.namespace"] = [NAMESPACE]
            if "{eviction}" in path:
                made = made[:1]
                own["path.eviction"] = [self._evicted(made[0])]
            if method in {"post", "put"} and "sessions" not in path:
                made = made[:1]
                own["body.uid"] = [made[0]["metadata"]["uid"]]
            own["path.name"] = [found["metadata"]["name"] for found in made]

    def _submitted(self) -> dict[str, Any]:
        """A new workload that has been admitted."""
        name = f"contract-{next(self._numbers)}"
        requests = {"resources": {"requests": {"cpu": "1m"}}}
        template = {"spec": {"containers": [{"name": "main", **requests}]}}
        workload = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "spec": {"queueName": "contract", "podSets": [{"count": 1, "template": template}]},
        }
        path = f"/v1/namespaces/{NAMESPACE}/workloads"
        answer = self._http.post(path, json=workload)
        answer.raise_for_status()
        submitted: dict[str, Any] = answer.json()
        return submitted

    def _evicted(self, workload: dict[str, Any]) -> str:
        """The eviction of a workload that is being cancelled."""
        path = WORKLOAD.format(namespace=NAMESPACE, name=workload["metadata"]["name"])

        def is_admitted() -> bool:
            return bool(self._http.get(path).json()["status"]["phase"] == "Starting")

        wait_until(is_admitted, "it is admitted")
        self._http.post(f"{path}/cancel", json={}).raise_for_status()
        name = f"{NAMESPACE}/{workload['metadata']['name']}"

        def found() -> list[str]:
            evictions = self._http.get("/v1/evictions").json()["items"]
            return [each["eviction"]["id"] for each in evictions if each["workload"] == name]

        wait_until(lambda: bool(found()), "its eviction is listed")
        return found()[0]

    def _objects_of(self, path: str, operations: Iterable[str]) -> None:
        collection, _, rest = path.partition("/{name}")
        if collection not in self._paths or collection == path:
            return
        is_deleted = not rest and "post" in self._paths[collection]
        real = collection.replace("{namespace}", NAMESPACE)
        listed = self._http.get(real).json()["items"]
        names = [str(each.get("metadata", each)["name"]) for each in listed]
        for method in operations:
            own = self.parameters[f"{method.upper()} {path}"]
            if "{namespace}" in path:
                own["path.namespace"] = [NAMESPACE]
            own["path.name"] = names
            if method == "delete" and is_deleted and listed and collection not in UNIQUE:
                own["path.name"] = list(self._copies(real, listed[-1]))

    def _copies(self, collection: str, found: dict[str, Any]) -> Iterator[str]:
        """The names of new objects that are equal to one but for their name."""
        for _ in range(SPARE_COUNT):
            name = f"spare-{next(self._numbers)}"
            copy = {**found, "metadata": {"name": name}}
            copy.pop("status", None)
            body = {**BODIES[collection], "name": name} if collection in BODIES else copy
            self._http.post(collection, json=body).raise_for_status()
            yield name

    def _others(self, operation: str, described: dict[str, Any]) -> None:
        """What is known by an id or a digest, and the version that a change expects."""
        own = self.parameters[operation]
        for parameter in described.get("parameters", ()):
            match parameter.get("name"), parameter.get("in"):
                case "If-Match", "header":
                    own["header.If-Match"] = ["*"]
                case "cycle", "path":
                    own["path.cycle"] = self._listed("/v1/cycles", "id")
                case "digest", "path":
                    own["path.digest"] = [ARCHIVE]
                    own["path.name" if "executors" in operation else "path.namespace"] = [NAMESPACE]
                case "batch", "path":
                    own["path.batch"] = [self._batch()]
                case "backtest", "path":
                    own["path.backtest"] = [self._backtest()]
                case "round_id", "path":
                    own["path.round_id"] = self._listed("/v1/preemptions", "id")
                case _:
                    pass
        if operation == "POST /v1/readmodels/{name}/rebuild":
            followers = self._http.get("/v1/system").json()["followers"]
            own["path.name"] = [each["name"] for each in followers]
        if not all(own.values()) or not own:
            del self.parameters[operation]

    def _batch(self) -> str:
        """A new batch that has held one workload."""
        query = {"name": self._submitted()["metadata"]["name"]}
        held = {"verb": "hold", "reason": "contract", "query": query}
        return str(self._http.post("/v1/batches", json=held).raise_for_status().json()["batch"])

    def _backtest(self) -> str:
        """A new backtest without changes."""
        kind = {"Content-Type": "application/yaml"}
        asked = self._http.post("/v1/backtests?from=0&to=", content="null", headers=kind)
        assert asked.is_success, asked.text
        return str(asked.json()["id"])

    def _listed(self, path: str, field: str) -> list[str]:
        return [str(found[field]) for found in self._http.get(path).json()["items"]]
