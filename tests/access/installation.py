"""An installation of three tenants, and requests to each of its routes.

team-a is one's own namespace, team-b the foreign one that requests name. `codename-hera` is a third
one that no request names: its name must be in no answer to a role that is confined to team-a.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from httpx import Response

from headgate.adapters.manifests.codec import OURS
from tests.access.expected import Namespace, document
from tests.api.callers import KUEUE, Api, flavor, workload

SECRET = "codename-hera"
HOST = "kubernetes.io/hostname"
PLACES: dict[Namespace, str] = {"own": "team-a", "foreign": "team-b"}
QUEUES: dict[Namespace, str] = {"own": "own", "foreign": "theirs"}
EXECUTORS: dict[Namespace, str] = {"own": "agents", "foreign": "others"}
DOORS = {"team-a": "own", "team-b": "theirs", SECRET: "own"}
"""The ClusterQueue of each tenant."""
GRANTS: dict[str, list[dict[str, Any]]] = {
    "viewer": [{"role": "viewer"}],
    "viewer-a": [{"role": "viewer", "namespaces": ["team-a"]}],
    "submitter": [{"role": "submitter", "namespaces": ["team-a"]}],
    "namespace-admin": [{"role": "namespace-admin", "namespaces": ["team-a"]}],
    "queue-admin": [{"role": "queue-admin", "clusterQueues": ["own"]}],
    "executor": [{"role": "executor", "executor": "agents"}],
}
REFUSED = (401, 403)
LISTS = (
    "/v1/workloads", "/v1/history", "/metrics", "/v1/events", "/v1/preemptions", "/v1/namespaces",
    "/v1/assignments", "/v1/overview", "/v1/localqueues", "/v1/stuck-workloads",
)  # fmt: skip


class Installation(NamedTuple):
    """Callers of every role, the ids that paths take, and the position that all of it led to.

    `untold` are the lists that did not name SECRET to an admin before a test changed anything.
    """

    callers: dict[str, Api]
    ids: dict[str, str]
    position: int
    untold: tuple[str, ...]


def install(admin: Api, schedule: Callable[[], int]) -> Installation:
    """Three tenants on one host: SECRET preempts its own workload, team-a waits for its hosts."""
    listed = {"apiVersion": "v1", "kind": "List", "items": _configuration()}
    applied = admin.post("/v1/apply", listed)
    rejected = [each for each in applied.json()["results"] if each["outcome"] == "rejected"]
    assert rejected == []
    _submit(admin, f"{SECRET}-1", SECRET, pods=8)
    schedule()
    _submit(admin, "run", "team-a", pods=4)
    _submit(admin, "run", "team-b", pods=4)
    _submit(admin, f"{SECRET}-2", SECRET, pods=8, priority=9)
    schedule()
    hold = {"verb": "hold", "reason": SECRET, "query": {"namespace": SECRET}}
    batch = admin.post("/v1/batches", hold).json()["batch"]
    admin.post("/v1/serviceaccounts", {"name": "spare", "grants": [{"role": "viewer"}]})
    reached = schedule()
    assert admin.caught_up("/v1/preemptions", reached).status_code == 200
    ids = {
        "round_id": admin.get("/v1/preemptions").json()["items"][0]["id"],
        "session": "none",
        "cycle": admin.get("/v1/cycles").json()["items"][0]["id"],
        "batch": batch,
        "backtest": "none",
        "simulation": "none",
        "eviction": "none",
        "check": "none",
        "digest": "0" * 64,
    }
    lists = (*LISTS, f"/v1/batches/{batch}")
    # Read models follow the log; those of objects are never behind it.
    told = {path: admin.caught_up(path, reached).text for path in lists}
    untold = tuple(path for path, text in told.items() if SECRET not in text)
    return Installation(_callers(admin), ids, reached, untold)


def _callers(admin: Api) -> dict[str, Api]:
    expires = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    found = {"nobody": Api(admin.client, ""), "admin": admin}
    for role, grants in GRANTS.items():
        made = admin.post("/v1/serviceaccounts", {"name": role, "grants": grants})
        assert made.status_code == 201, made.text
        token = admin.post(f"/v1/serviceaccounts/{role}/tokens", {"expiresAt": expires})
        found[role] = Api(admin.client, token.json()["secret"])
    return found


def _configuration() -> list[dict[str, Any]]:
    quota = [{"name": "cpu", "nominalQuota": "8"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": quota}]}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    spec = {"resourceGroups": groups, "namespaceSelector": {}, "preemption": preemption}
    limit = {"limits": [{"type": "Container", "max": {"cpu": "64"}}]}
    budget = {"selector": {}, "minAvailable": 0}
    own = [
        _object(kind, _door(place, queue), spec, place, version)
        for place, queue in DOORS.items()
        for kind, spec, version in (
            ("LocalQueue", {"clusterQueue": queue}, KUEUE),
            ("DisruptionBudget", budget, OURS),
        )
    ]
    limits = [_object("LimitRange", _door(p, q), limit, p, "v1") for p, q in DOORS.items()]
    node = _object("Node", "h1", {}, version="v1")
    node["metadata"]["labels"] = {"pool": "gpu", HOST: "h1"}
    node["status"] = {"allocatable": {"cpu": "8", "pods": "20"}}
    return [
        *(_object("Namespace", place, {}, version="v1") for place in DOORS),
        _object("Topology", "hosts", {"levels": [{"nodeLabel": HOST}]}),
        flavor("gpu", nodeLabels={"pool": "gpu"}, topologyName="hosts"),
        node,
        *(_object("ClusterQueue", name, spec) for name in QUEUES.values()),
        *own,
        *limits,
    ]


def _door(place: str, queue: str) -> str:
    return f"{SECRET}-door" if place == SECRET else queue


def _object(
    kind: str, name: str, spec: dict[str, Any], namespace: str = "", version: str = KUEUE
) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _submit(admin: Api, name: str, place: str, *, pods: int, priority: int = 0) -> None:
    body = workload(name, place, _door(place, DOORS[place]), priority=priority)
    body["spec"]["podSets"][0]["count"] = pods
    body["spec"]["podSets"][0]["topologyRequest"] = {"required": HOST}
    made = admin.post(f"/v1/namespaces/{place}/workloads", body)
    assert made.status_code == 201, made.text


NAMES = {"nodes": "h1", "topologies": "hosts", "resourceflavors": "gpu", "workloads": "run"}
QUERIES = {
    "fits": "pod=cpu%3D1",
    "fragmentation": "pod=cpu%3D1",
    "near-fits": "workload=team-a/run",
    "can-i": "verb=get&resource=wl",
    "references": "stream=clusterqueue/own",
    # A stream never ends; asked for the past, it answers at once. Its events are read apart.
    "stream": "at=1",
    "events": "limit=1000",
}


def address(route: str, place: Namespace, ids: dict[str, str]) -> str:
    """The address of a route about one's own or a foreign object, without an effect if it can."""
    method, path = route.split(" ")
    kind = path.partition("/{name}")[0].rpartition("/")[2]
    name = NAMES.get(kind, QUEUES[place])
    if kind == "namespaces":
        name = PLACES[place]
    if kind in ("tokens", "serviceaccounts", "readmodels"):
        name = "absent"
    if kind == "executors":
        name = EXECUTORS[place]
    found = path.format(namespace=PLACES[place], name=name, **ids)
    query = [QUERIES.get(path.rpartition("/")[2], "")]
    parameters: Any = document()[path][method.lower()].get("parameters", [])
    if any(each.get("name") == "dryRun" for each in parameters):
        query.append("dryRun=All")
    return f"{found}?{'&'.join(filter(None, query))}"


def body(route: str, place: Namespace) -> Any:
    """The body of a request that the role of a caller is judged by, or an empty one."""
    namespace = PLACES[place]
    item = workload("tried", namespace, QUEUES[place])
    key = f"{namespace}/run"
    match route:
        case "POST /v1/simulations" | "POST /v1/apply":
            return item
        case "POST /v1/workloads:batch":
            return {"items": [{**item, "spec": {}}]}
        case "POST /v1/batches":
            chosen = [{"workload": key}]
            return {"verb": "cancel", "reason": "x", "workloads": chosen, "dryRun": "All"}
        case "POST /v1/reports:batch":
            return {"reports": [{"workload": key, "uid": "none", "type": "stopped"}]}
        case _ if route.endswith("/workloads/{name}/sessions"):
            return {"command": ["true"]}
        case _ if route.endswith("/preemption-gates"):
            return {"name": "a/b", "position": "Open"}
        case _ if "/localqueues/{name}/" in route or "/clusterqueues/{name}/" in route:
            return {"reason": "matrix"}
        case _:
            return {"reason": "matrix"} if "/workloads/{name}/" in route else {}


def is_allowed(route: str, answer: Response) -> bool:
    """Whether the role may do it: in a batch, whether it may do it to the one object there."""
    if answer.status_code in REFUSED:
        return False
    if route == "POST /v1/batches":
        return bool(answer.json()["eligible"])
    results = answer.json().get("results", []) if route.startswith("POST") and answer.text else []
    problems = [each.get("problem", {}).get("status") for each in results]
    return not problems or any(status not in REFUSED for status in problems)


UNDO = {"stop": "resume", "cordon": "uncordon"}


def undo(admin: Api, route: str, where: str, answer: Response) -> None:
    """Takes back a stop, a drain or a cordon, so that the next role meets the object as it was."""
    before, _, verb = where.partition("?")[0].rpartition("/")
    if verb == "drain":
        verb = "cordon" if "/nodes/" in route or "/executors/" in route else "stop"
    if verb in UNDO and answer.status_code == 200:
        undone = admin.post(f"{before}/{UNDO[verb]}", {})
        assert undone.status_code == 200, undone.text
