"""Executors read what to run pod by pod, and report on single pods."""

from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Any

import pytest
from httpx import Response
from msgspec.structs import replace

from headgate.adapters.postgres.executor_stores import PostgresRendezvousPorts
from headgate.application.executor_stores import WantedPort
from headgate.bootstrap import Platform
from tests.api.callers import KUEUE, Api, flavor, local_queue
from tests.api.test_executor_protocol import HOST, RACK, Process, a_node, an_executor

HERE = "/v1/namespaces/team-a/workloads"
NUMBERS = count(1)


def a_kueue_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


class CurrentApi(Api):
    """Reads of workloads and assignments that show all that the log has."""

    def __init__(self, api: Api, platform: Platform) -> None:
        super().__init__(api.client, "")
        self.headers, self.platform = api.headers, platform

    def get(self, path: str, **headers: str) -> Response:
        if "/workloads" not in path and "/assignments" not in path:
            return super().get(path, **headers)
        joint = "&" if "?" in path else "?"
        return super().get(f"{path}{joint}minPosition={self.platform.event_log.head()}", **headers)


@pytest.fixture(scope="module")
def admin(admin: Api, platform: Platform) -> Api:
    return CurrentApi(admin, platform)


@pytest.fixture(scope="module")
def callers(callers: dict[str, Api], platform: Platform) -> dict[str, Api]:
    return {role: CurrentApi(api, platform) for role, api in callers.items()}


@pytest.fixture
def pool() -> str:
    """The pool of one test, as what it leaves behind would be in the way of others."""
    return f"pool-{next(NUMBERS)}"


@pytest.fixture
def processes(admin: Api, callers: dict[str, Api], pool: str) -> tuple[Process, Process]:
    """Two executors with one host of two cores each, `one` and `two` of the pool."""
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", a_kueue_object("Topology", "racks", levels))
    pools = flavor(pool, topologyName="racks", nodeLabels={"pool": pool})
    admin.post("/v1/resourceflavors", pools)
    quota = {"name": pool, "resources": [{"name": "cpu", "nominalQuota": "99"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec: dict[str, Any] = {"resourceGroups": groups, "namespaceSelector": {}}
    spec["preemption"] = {"withinClusterQueue": "LowerPriority"}
    admin.post("/v1/clusterqueues", a_kueue_object("ClusterQueue", pool, spec))
    admin.post("/v1/namespaces/team-a/localqueues", local_queue(pool, pool))
    made = []
    for name in ("one", "two"):
        selector = {"pool": pool, "of": name}
        assert (
            admin.post(
                "/v1/executors", an_executor(f"{pool}-{name}", nodeSelector=selector)
            ).status_code
            == 201
        )
        process = Process(callers["executor"], f"{pool}-{name}")
        labels = {"pool": pool, RACK: "r1", "of": name}
        process.register({**a_node(f"{pool}-{name}", pool, cpu="2"), "labels": labels})
        made.append(process)
    return made[0], made[1]


def gang(count: int) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    template = {"spec": pod}
    request = {"preferred": RACK}
    return {"name": "main", "count": count, "template": template, "topologyRequest": request}


Start = Callable[[str, int], dict[str, Any]]


@pytest.fixture
def start(
    processes: tuple[Process, Process], pool: str, submitted: Callable[..., dict[str, Any]]
) -> Start:
    """Submit a gang of that many pods; the workload once it is admitted."""
    assert processes

    def started(name: str, pods: int) -> dict[str, Any]:
        found = submitted(name, pool, podSets=[gang(pods)])
        assert found["status"]["phase"] == "Starting", found["status"]
        return found

    return started


def assigned(process: Process) -> dict[str, dict[str, Any]]:
    """What the process is to run, by workload."""
    items = process.get("assignments").json()["items"]
    return {each["workload"]: each for each in items}


def item_of(process: Process, name: str) -> dict[str, Any]:
    return assigned(process)[f"team-a/{name}"]


def about(item: dict[str, Any], index: int, kind: str, **fields: Any) -> dict[str, Any]:
    (pods,) = item["podSets"]
    run = next(pod["run"] for pod in pods["pods"] if pod["index"] == index)
    named = {name: item[name] for name in ("workload", "uid", "attempt")}
    return {**named, "podSet": pods["name"], "index": index, "run": run, "type": kind, **fields}


def indices(item: dict[str, Any]) -> list[int]:
    return [pod["index"] for each in item["podSets"] for pod in each["pods"]]


def report(process: Process, *reports: dict[str, Any]) -> list[Any]:
    answer = process.post("reports", {"reports": list(reports)})
    assert answer.status_code == 200, answer.text
    return [each["accepted"] or each["code"] for each in answer.json()["outcomes"]]


def phase(admin: Api, name: str) -> str:
    return str(admin.get(f"{HERE}/{name}").json()["status"]["phase"])


def test_each_executor_reads_its_own_pods_with_ranks_and_hosts(
    processes: tuple[Process, Process], start: Start, admin: Api, pool: str
) -> None:
    found = start("ranks", 4)
    items = [item_of(process, "ranks") for process in processes]
    assert {items[0]["attempt"], items[1]["attempt"]} == {1}
    assert items[0]["uid"] == found["metadata"]["uid"]
    assert sorted(indices(items[0]) + indices(items[1])) == [0, 1, 2, 3]
    assert sorted(items[0]["hosts"]) == [f"{pool}-one"] * 2 + [f"{pool}-two"] * 2
    assert items[0]["worldSize"] == 4
    for item in items:
        for pod in item["podSets"][0]["pods"]:
            assert item["hosts"][pod["rank"]] == pod["node"]
    assert items[0]["rendezvous"] == items[1]["rendezvous"]
    assert items[0]["rendezvous"]["host"] == items[0]["hosts"][0]
    assert 20_000 <= items[0]["rendezvous"]["port"] <= 29_999
    assert items[0]["podSets"][0]["template"]["spec"]["containers"][0]["name"] == "c"
    admin.post(f"{HERE}/ranks/cancel", {"reason": "done"})
    for process, item in zip(processes, items, strict=True):
        told = item_of(process, "ranks")
        assert (told["stop"]["reason"], "eviction" in told) == ("Cancelled", False)
        assert report(process, *(about(item, i, "stopped") for i in indices(item))) == [True, True]
    assert phase(admin, "ranks") == "Cancelled"
    assert "team-a/ranks" not in assigned(processes[0])


def test_a_workload_runs_and_succeeds_by_the_reports_of_its_pods(
    processes: tuple[Process, Process], start: Start, admin: Api
) -> None:
    start("succeeds", 4)
    told: list[dict[str, Any]] = []
    for number, process in enumerate(processes):
        item = item_of(process, "succeeds")
        told = [about(item, i, kind) for i in indices(item) for kind in ("started", "ready")]
        assert set(report(process, *told)) == {True}
        assert phase(admin, "succeeds") == ("Starting", "Running")[number]
    position = admin.get("/v1/system").json()["position"]
    assert set(report(process, *told)) == {True}
    assert admin.get("/v1/system").json()["position"] == position
    for process in processes:
        item = item_of(process, "succeeds")
        done = [about(item, i, "finished", exitCode=0, result=f"r{i}") for i in indices(item)]
        assert set(report(process, *done)) == {True}
    assert phase(admin, "succeeds") == "Succeeded"


def test_a_failed_pod_stops_the_others_and_fails_the_workload(
    processes: tuple[Process, Process], start: Start, admin: Api
) -> None:
    start("fails", 4)
    one, two = (item_of(process, "fails") for process in processes)
    first, *rest = indices(one)
    told = [about(one, i, "started") for i in indices(one)]
    failed = about(one, first, "finished", exitCode=3, reason="Error")
    assert set(report(processes[0], *told, failed)) == {True}
    assert phase(admin, "fails") == "Evicting"
    left = item_of(processes[0], "fails")
    assert left["stop"]["reason"] == "PodFailed"
    assert indices(left) == rest
    assert [
        [pod.get("started", False) for pod in item["podSets"][0]["pods"]] for item in (two, left)
    ] == [
        [False] * len(indices(two)),
        [True] * len(rest),
    ]
    report(processes[0], *(about(one, i, "stopped") for i in rest))
    assert phase(admin, "fails") == "Evicting"
    report(processes[1], *(about(two, i, "stopped") for i in indices(two)))
    found = admin.get(f"{HERE}/fails").json()["status"]
    assert found["phase"] == "Failed"
    ended = next(each for each in found["conditions"] if each["type"] == "Finished")
    assert "exit code 3" in ended["message"]


def test_each_bad_report_is_refused_by_itself(
    processes: tuple[Process, Process], start: Start, admin: Api
) -> None:
    start("refused", 4)
    process, other = processes
    item = item_of(process, "refused")
    index = indices(item)[0]
    good = about(item, index, "started")
    assert report(
        process,
        {**good, "workload": "team-a/never-was"},
        {**good, "uid": "another"},
        {**good, "attempt": 2},
        {**good, "run": 2},
        {**good, "index": 99},
        {**good, "podSet": "unknown"},
        {**good, "exitCode": -1},
        good,
    ) == [
        "ObjectNotFound",
        "EarlierWorkload",
        "StaleAttempt",
        "StaleRun",
        "UnknownPod",
        "UnknownPod",
        "ReportInvalid",
        True,
    ]
    assert report(other, good) == ["PodOfOtherExecutor"]
    admin.post(f"{HERE}/refused/cancel", {"reason": "done"})
    for each in processes:
        found = item_of(each, "refused")
        report(each, *(about(found, i, "stopped") for i in indices(found)))


def test_a_late_report_of_the_first_attempt_leaves_the_second(
    processes: tuple[Process, Process], start: Start, admin: Api, schedule: Callable[[], int]
) -> None:
    start("twice", 4)
    first = [item_of(process, "twice") for process in processes]
    admin.post(f"{HERE}/twice/requeue", {"reason": "again"})
    for process, item in zip(processes, first, strict=True):
        told = item_of(process, "twice")
        assert told["eviction"]["reason"] == "Requeued"
        report(process, *(about(item, i, "stopped") for i in indices(item)))
    admin.caught_up("/v1/queues", schedule())
    second = item_of(processes[0], "twice")
    assert second["attempt"] == 2
    late = about(first[0], indices(first[0])[0], "finished", exitCode=1)
    assert report(processes[0], late) == ["StaleAttempt"]
    assert phase(admin, "twice") == "Starting"
    admin.post(f"{HERE}/twice/cancel", {"reason": "done"})
    for process in processes:
        item = item_of(process, "twice")
        report(process, *(about(item, i, "stopped") for i in indices(item)))


def test_each_extension_of_a_deadline_is_seen_by_the_pods(
    processes: tuple[Process, Process], pool: str, submitted: Callable[..., Any], admin: Api
) -> None:
    """Also one of less than a second, as the deadline in the order is what a pod compares."""
    soft = {"mode": "Soft", "gracePeriodSeconds": 60}
    saves = submitted("saves", pool, podSets=[gang(4)], evictionPolicy=soft)
    submitted("urgent", pool, podSets=[gang(4)], priority=100)
    orders = [item_of(processes[0], "saves")["eviction"]]
    path = f"{HERE}/saves/evictions/{orders[0]['id']}/progress"
    for message in ("a third", "two thirds"):
        told = {"uid": saves["metadata"]["uid"], "message": message}
        assert admin.post(path, told).status_code == 200
        orders.append(item_of(processes[0], "saves")["eviction"])
    deadlines = [datetime.fromisoformat(order["deadline"]) for order in orders]
    assert deadlines == sorted(set(deadlines))
    admin.post(f"{HERE}/urgent/cancel", {"reason": "done"})
    for process in processes:
        item = item_of(process, "saves")
        report(process, *(about(item, i, "stopped") for i in indices(item)))
    admin.post(f"{HERE}/saves/cancel", {"reason": "done"})


def test_pods_are_shown_by_attempt_with_state_and_exit_code(
    processes: tuple[Process, Process],
    start: Start,
    admin: Api,
    schedule: Callable[[], int],
    pool: str,
) -> None:
    start("shown", 4)
    path = f"{HERE}/shown/pods"
    items = [item_of(process, "shown") for process in processes]
    first, second = indices(items[0])
    running = [about(items[0], first, kind) for kind in ("started", "ready")]
    report(processes[0], *running, about(items[0], second, "started"))
    report(processes[1], about(items[1], indices(items[1])[0], "finished", exitCode=0, result="ok"))
    found = admin.get(path).json()
    assert found["position"] >= admin.get("/v1/queues").json()["position"]
    (attempt,) = found["attempts"]
    counts = {"Running": 1, "Starting": 1, "Succeeded": 1, "Assigned": 1}
    assert (found["attempt"], attempt["attempt"], attempt["pods"]) == (1, 1, counts)
    by_index = {each["index"]: each for each in found["items"]}
    states = [by_index[index]["state"] for index in (first, second, *indices(items[1]))]
    assert states == ["Running", "Starting", "Succeeded", "Assigned"]
    ended = by_index[indices(items[1])[0]]
    assert (ended["exitCode"], ended["reason"], ended["result"]) == (0, "Completed", "ok")
    assert ended["node"] == f"{pool}-two"
    page = admin.get(f"{path}?limit=3").json()
    rest = admin.get(f"{path}?limit=3&continue={page['continue']}").json()
    assert page["items"] + rest["items"] == found["items"]
    assert (page["attempts"], rest["attempts"]) == (found["attempts"], [])
    ended_only = admin.get(f"{path}?state=Succeeded,Failed").json()["items"]
    assert ended_only == [ended]
    of_second = admin.get(f"{path}?node={pool}-two").json()["items"]
    assert {each["node"] for each in of_second} == {f"{pool}-two"}
    assert admin.get(f"{path}?podSet=other").json()["items"] == []
    wrong = admin.get(f"{path}?state=Sleeping")
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/state")
    before = found["position"]
    admin.post(f"{HERE}/shown/requeue", {"reason": "again"})
    for process, item in zip(processes, items, strict=True):
        report(process, *(about(item, i, "stopped") for i in indices(item)))
    admin.caught_up("/v1/queues", schedule())
    assert {each["state"] for each in admin.get(path).json()["items"]} <= {"Assigned"}
    past = {each["state"] for each in admin.get(f"{path}?attempt=1").json()["items"]}
    assert past == {"Stopped", "Succeeded"}
    assert admin.get(f"{path}?at={before}").json() == found
    unknown = admin.get(f"{path}?attempt=9")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "AttemptNotFound")
    admin.post(f"{HERE}/shown/cancel", {"reason": "done"})


def test_a_failed_index_runs_again_and_the_next_one_follows_each_that_completes(
    processes: tuple[Process, Process],
    admin: Api,
    pool: str,
    submitted: Callable[..., dict[str, Any]],
) -> None:
    policy = {"limit": 1, "backoffBaseSeconds": 0}
    labels = {"podIndexLabel": "index", "subGroupIndexLabel": "job", "subGroupCount": 1}
    pods = {**gang(2), "completions": 4}
    pods["topologyRequest"] = {**pods.get("topologyRequest", {}), **labels}
    submitted("indexed", pool, podSets=[pods], retryPolicy=policy)
    process = next(each for each in processes if "team-a/indexed" in assigned(each))
    item = item_of(process, "indexed")
    assert (item["hosts"], "worldSize" in item, indices(item)) == ([], False, [0, 1])
    known = {"label": "index", "subGroupLabel": "job", "subGroupSize": 4}
    assert item["podSets"][0]["podIndex"] == known
    done = about(item, 0, "finished", exitCode=0)
    failed = about(item, 1, "finished", exitCode=3)
    assert report(process, done, failed) == [True, True]
    item = item_of(process, "indexed")
    runs = {pod["index"]: pod["run"] for pod in item["podSets"][0]["pods"]}
    assert runs == {1: 2, 2: 1}
    assert report(process, done, failed) == [True, "StaleRun"]
    ends = [about(item, index, "finished", exitCode=0) for index in (1, 2)]
    assert report(process, *ends) == [True, True]
    item = item_of(process, "indexed")
    assert indices(item) == [3]
    assert admin.get(f"{HERE}/indexed").json()["status"]["reclaimablePods"] == [
        {"name": "main", "count": 1}
    ]
    assert report(process, about(item, 3, "finished", exitCode=0)) == [True]
    assert phase(admin, "indexed") == "Succeeded"
    timeline = admin.get(f"{HERE}/indexed/timeline").json()
    details = [entry["title"] for entry in timeline["entries"]]
    assert "Failed pods retried" in details


def test_a_gang_waits_for_a_rendezvous_port_and_its_explanation_says_so(
    processes: tuple[Process, Process], start: Start, admin: Api, pool: str, platform: Platform
) -> None:
    names = [f"{pool}-{name}" for name in ("one", "two")]
    for name in names:
        path = f"/v1/executors/{name}"
        spec = {**admin.get(path).json()["spec"], "rendezvousPorts": {"first": 7000, "last": 7000}}
        assert admin.put(path, an_executor(name, **spec), If_Match="*").status_code == 200
    taken = [replace(a_port("another"), executor=name, last=7000) for name in names]
    assert len(PostgresRendezvousPorts(platform.pool).reserve(taken)) == 2
    start("portless", 2)

    def found() -> tuple[int, str]:
        (item,) = [each for process in processes for each in assigned(process).values()]
        explained = admin.get(f"{HERE}/portless/explanation").json()
        return item["rendezvous"]["port"], explained["code"]

    assert found() == (0, "NoRendezvousPort")
    with platform.pool.connection() as connection:
        connection.execute("DELETE FROM rendezvous_port WHERE executor = ANY(%s)", (names,))
    assert found() == (7000, "PhaseStarting")


def a_port(uid: str, preferred: int = 7000, *, attempt: int = 1) -> WantedPort:
    return WantedPort(
        executor="ports", uid=uid, attempt=attempt, preferred=preferred, first=7000, last=7002
    )


def test_no_two_running_attempts_of_an_executor_share_a_port(platform: Platform) -> None:
    store = PostgresRendezvousPorts(platform.pool, seconds_kept=0)
    wanted = [a_port("a", 7001), a_port("b", 7001), a_port("c", 7001)]
    first = store.reserve(wanted)
    assert [first[each.key] for each in wanted] == [7001, 7002, 7000]
    assert store.reserve(wanted) == first
    assert store.reserve([a_port("d")]) == {}, "the range is exhausted"
    assert [store.is_exhausted(a_port(uid)) for uid in ("d", "a")] == [True, False]
    store.release_others({("a", 1), ("c", 1)})
    again = a_port("b", attempt=2)
    assert store.reserve([again, a_port("a")]) == {again.key: 7002, wanted[0].key: 7001}
