"""The pods that fit on the hosts of a topology, and the blocking holders of each domain."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from httpx import Response

from tests.api.callers import KUEUE, Api, flavor, workload

HOST = "kubernetes.io/hostname"
A = "/v1/namespaces/team-a/workloads"
B = "/v1/namespaces/team-b/workloads"


def _node(name: str, rack: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": "fits", "fits/rack": rack, HOST: name}},
        "status": {"allocatable": {"cpu": "8", "pods": "20"}},
    }


def _configuration() -> list[dict[str, Any]]:
    quota = [{"name": "cpu", "nominalQuota": "64"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "fits", "resources": quota}]}]
    return [
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": "fits"},
            "spec": {"levels": [{"nodeLabel": "fits/rack"}, {"nodeLabel": HOST}]},
        },
        flavor("fits", nodeLabels={"pool": "fits"}, topologyName="fits"),
        _node("f1", "r1"),
        _node("f2", "r1"),
        _node("f3", "r2"),
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "fits"},
            "spec": {"resourceGroups": groups, "namespaceSelector": {}},
        },
        *(
            {
                "apiVersion": KUEUE,
                "kind": "LocalQueue",
                "metadata": {"name": "fits", "namespace": namespace},
                "spec": {"clusterQueue": "fits"},
            }
            for namespace in ("team-a", "team-b")
        ),
    ]


def _gang(name: str, namespace: str, pods: int, level: str) -> dict[str, Any]:
    body = workload(name, namespace)
    body["spec"]["queueName"] = "fits"
    pod_set = body["spec"]["podSets"][0]
    pod_set["count"] = pods
    pod_set["topologyRequest"] = {"required": level}
    return body


@pytest.fixture(scope="module", autouse=True)
def position(admin: Api, schedule: Callable[[], int]) -> int:
    """team-b holds 6 of the 8 cores of a host in the larger rack; a gang of team-a waits."""
    items = _configuration()
    applied = admin.post("/v1/apply", {"apiVersion": "v1", "kind": "List", "items": items})
    assert applied.status_code == 200, applied.text
    holder = _gang("holder", "team-b", 6, HOST)
    holder["spec"]["maximumExecutionTimeSeconds"] = 3600
    assert admin.post(B, holder).status_code == 201
    schedule()
    assert admin.post(A, _gang("waits", "team-a", 12, "fits/rack")).status_code == 201
    return schedule()


def test_the_largest_gang_of_each_level_is_reported(admin: Api) -> None:
    found = admin.get("/v1/topologies/fits/fits?pod=cpu%3D2").json()
    assert found["requests"] == {"cpu": 2000}
    told = [(fit["level"], fit["largest"], fit["together"], fit["domain"]) for fit in found["fits"]]
    assert told == [("fits/rack", 5, 9, ["r1"]), (HOST, 4, 9, ["r1", "f2"])]
    assert [(fit["domains"], fit["withRoom"]) for fit in found["fits"]] == [(2, 2), (3, 3)]


def test_the_nearest_domains_are_listed_with_their_blocking_holders(admin: Api) -> None:
    found = admin.get("/v1/topologies/fits/near-fits?workload=team-a/waits").json()
    first, second = found["near"]
    assert (first["domain"], first["fits"], first["needs"]) == (["r1"], 10, 12)
    assert (second["domain"], second["fits"], second["inTheWay"]) == (["r2"], 8, [])
    assert first["resource"] == "cpu"
    assert [(each["key"], each["pods"]) for each in first["inTheWay"]] == [("team-b/holder", 6)]


def test_fragmentation_is_the_capacity_outside_the_largest_domain(admin: Api) -> None:
    fits = admin.get("/v1/topologies/fits/fits?pod=cpu%3D2").json()["fits"]
    assert [fit["fragmentation"] for fit in fits] == [444, 555]
    nothing = admin.get("/v1/topologies/fits/fits?pod=cpu%3D9").json()["fits"]
    assert [(fit["together"], fit["fragmentation"]) for fit in nothing] == [(0, 0), (0, 0)]


def test_what_fitted_at_instants_of_the_past_is_what_was_told_then(admin: Api) -> None:
    path = "/v1/topologies/fits/{}?pod=cpu%3D2"
    then = str(_first(admin, "workload/team-b/holder")["at"])
    stretch = f"&since={then.replace('Z', '%2B00:00')}&points=3"
    told = admin.get(path.format("fragmentation") + stretch).json()
    assert told["complete"] is True
    assert [point["at"] for point in told["points"]] == sorted(p["at"] for p in told["points"])
    assert told["points"][0]["at"] == then
    for point in told["points"]:
        at_that_time = admin.get(path.format("fits") + f"&at={point['position']}").json()
        assert point["fits"] == at_that_time["fits"]
    assert told["points"][-1]["fits"] == admin.get(path.format("fits")).json()["fits"]


def test_what_pods_took_of_a_node_is_told_over_time(admin: Api) -> None:
    then = str(_first(admin, "workload/team-b/holder")["at"]).replace("Z", "%2B00:00")
    rows = _rows(admin.get("/v1/topologies/fits/map").json())
    (held,) = (row for row in rows if row["queue"] == "fits")
    assert held["flavors"] == ["fits"]
    name = held["path"][-1]
    told = admin.get(f"/v1/nodes/{name}/usage?since={then}&points=3").json()
    assert (told["node"], told["complete"]) == (name, True)
    first, last = told["points"][0], told["points"][-1]
    assert first["used"] == {}
    assert last["used"] == held["used"]
    assert last["allocatable"]["cpu"] == held["allocatable"]["cpu"]
    (free,) = (row["path"][-1] for row in rows if row["path"][0] == "r2" and row["flavors"])
    assert admin.get(f"/v1/nodes/{free}/usage").json()["points"][-1]["used"] == {}
    assert admin.get("/v1/nodes/nowhere/usage").status_code == 404


def test_what_of_a_node_is_allocated_is_told_with_the_end_of_each_workload(
    admin: Api, callers: dict[str, Api]
) -> None:
    of_domains = admin.get("/v1/topologies/fits/workloads?domain=r1").json()["hosts"]
    (name,) = (each["host"] for each in of_domains if each["workloads"])
    told = admin.get(f"/v1/nodes/{name}/allocation").json()
    assert (told["allocatable"]["cpu"], told["used"]["cpu"], told["free"]["cpu"]) == (
        8000,
        6000,
        2000,
    )
    conditions = admin.get(f"{B}/holder").json()["status"]["conditions"]
    (admitted,) = (one for one in conditions if one["type"] == "Admitted")
    since = datetime.fromisoformat(admitted["lastTransitionTime"])
    (held,) = told["workloads"]
    # Conditions are told in whole seconds.
    ends_at = datetime.fromisoformat(held.pop("endsAt")).replace(microsecond=0)
    assert ends_at - since == timedelta(hours=1)
    assert held == {
        "key": "team-b/holder",
        "pods": 6,
        "clusterQueue": "fits",
        "priority": 0,
        "requests": {"cpu": 6000, "pods": 6},
    }
    (hidden,) = callers["submitter"].get(f"/v1/nodes/{name}/allocation").json()["workloads"]
    assert (hidden["key"], hidden["clusterQueue"]) == ("1 workload of other teams", "")
    assert (hidden["requests"], hidden["endsAt"]) == (held["requests"], None)
    closed = admin.post(f"/v1/nodes/{name}/cordon", {"reason": "fans"})
    position = int(closed.json()["metadata"]["resourceVersion"])
    shut = admin.caught_up(f"/v1/nodes/{name}/allocation", position).json()
    assert (shut["cordoned"], shut["free"], shut["used"]) == (True, {}, told["used"])
    _settle(admin, admin.post(f"/v1/nodes/{name}/uncordon", {}))
    assert admin.get("/v1/nodes/nowhere/allocation").status_code == 404


def test_a_map_has_a_row_for_each_domain_and_tells_those_that_changed(
    admin: Api, callers: dict[str, Api]
) -> None:
    path = "/v1/topologies/fits/map"
    before = admin.get(path).json()
    rows = {"/".join(row["path"]): row for row in _rows(before)}
    assert list(rows) == ["r1", "r1/f1", "r1/f2", "r2", "r2/f3"]
    assert rows["r1"]["free"]["cpu"] == rows["r1/f1"]["free"]["cpu"] + 8000 == 10000
    assert (rows["r1"]["ready"], rows["r1/f1"]["priority"], rows["r2"]["priority"]) == (2, 0, None)
    assert (before["resources"], before["rows"]) == (["cpu", "pods"], None)
    assert callers["submitter"].get(path).json()["clusterQueues"] == [""]

    nothing = admin.get(f"{path}?changedSince={before['position']}").json()
    assert (nothing["rows"], nothing["names"], nothing["ready"]) == ([], [], [])
    closed = admin.post("/v1/nodes/f3/cordon", {"reason": "fans"})
    position = int(closed.json()["metadata"]["resourceVersion"])
    changed = admin.caught_up(f"{path}?changedSince={before['position']}", position).json()
    names = [before["names"][row] for row in changed["rows"]]
    assert names == ["r2", "f3"]
    assert [_row(changed, place)["cordoned"] for place in range(2)] == [1, 1]
    assert _row(changed, 1)["free"] == {}
    assert admin.get(f"{path}?at={before['position']}").json()["cordoned"] == before["cordoned"]
    _settle(admin, admin.post("/v1/nodes/f3/uncordon", {}))

    # A reader of a position from before the first map, or of other hosts, is told all rows.
    assert len(admin.get(f"{path}?changedSince=0").json()["names"]) == 5
    extra = admin.post("/v1/nodes", _node("f4", "r2")).json()
    position = int(extra["metadata"]["resourceVersion"])
    whole = admin.caught_up(f"{path}?changedSince={before['position']}", position).json()
    assert (whole["rows"], len(whole["names"])) == (None, 6)
    _settle(admin, admin.delete("/v1/nodes/f4"))


def test_before_there_were_hosts_nothing_fitted(admin: Api) -> None:
    told = admin.get("/v1/topologies/fits/fragmentation?pod=cpu%3D2").json()
    assert len(told["points"]) == 24
    assert (told["points"][0]["position"], told["points"][0]["fits"]) == (0, [])
    assert told["points"][-1]["fits"][0]["largest"] == 5


def test_in_the_past_the_stretch_ends_there(admin: Api) -> None:
    position = _first(admin, "topology/fits")["position"]
    told = admin.get(f"/v1/topologies/fits/fragmentation?pod=cpu%3D2&at={position}").json()
    assert told["position"] == told["points"][-1]["position"] == position
    assert told["points"][-1]["fits"] == []


@pytest.mark.parametrize(
    ("stretch", "pointer"),
    [
        ("since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "/since"),
        ("until=2999-01-01T00:00:00Z", "/until"),
        ("since=yesterday", "/since"),
        ("points=1", "/points"),
        ("points=101", "/points"),
    ],
)
def test_a_stretch_without_length_or_past_now_is_refused(
    admin: Api, stretch: str, pointer: str
) -> None:
    refused = admin.get(f"/v1/topologies/fits/fragmentation?pod=cpu%3D2&{stretch}")
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert pointer in error["pointer"]


def test_blocking_holders_are_not_named_to_a_submitter(callers: dict[str, Api]) -> None:
    submitter = callers["submitter"]
    found = submitter.get("/v1/topologies/fits/near-fits?workload=team-a/waits").json()
    assert [each["key"] for each in found["near"][0]["inTheWay"]] == ["a workload of another team"]
    hidden = submitter.get("/v1/topologies/fits/near-fits?workload=team-b/holder")
    assert hidden.status_code == 404


@pytest.mark.parametrize("pod", ["", "cpu", "cpu=many", "=4", "cpu=-1"])
def test_a_pod_that_cannot_be_read_is_refused_with_a_remedy(admin: Api, pod: str) -> None:
    refused = admin.get(f"/v1/topologies/fits/fits?pod={pod.replace('=', '%3D')}")
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/pod"
    assert error["remedy"]


def test_what_is_not_there_is_not_found(admin: Api) -> None:
    assert admin.get("/v1/topologies/none/fits?pod=cpu%3D1").status_code == 404
    assert admin.get("/v1/topologies/none/near-fits?workload=team-a/waits").status_code == 404
    assert admin.get("/v1/topologies/fits/near-fits?workload=team-a/none").status_code == 404


def _first(admin: Api, stream: str) -> dict[str, Any]:
    """The first event of a stream."""
    found = admin.get("/v1/events?limit=1000").json()["items"]
    return next(event for event in reversed(found) if event["stream"] == stream)


def _settle(admin: Api, written: Response) -> None:
    """Other tests read what was changed back."""
    admin.caught_up("/v1/queues", int(written.headers["X-Log-Position"]))


def _rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a map as objects; of hosts alone with flavors."""
    rows: list[dict[str, Any]] = []
    for place, (name, parent) in enumerate(zip(found["names"], found["parents"], strict=True)):
        above = rows[parent]["path"] if parent >= 0 else []
        row = {"path": [*above, name], **_row(found, place)}
        rows.append(row)
    return rows


def _row(found: dict[str, Any], place: int) -> dict[str, Any]:
    queue, flavors = found["queues"][place], found["flavors"][place]
    return {
        "queue": found["clusterQueues"][queue] if queue >= 0 else None,
        "flavors": found["flavorSets"][flavors] if flavors >= 0 else [],
        "priority": found["priorities"][place],
        "ready": found["ready"][place],
        "cordoned": found["cordoned"][place],
        **{
            part: {
                resource: column[place] * found["units"][resource]
                for resource, column in found[part].items()
            }
            for part in ("allocatable", "used", "others", "free")
        },
    }
