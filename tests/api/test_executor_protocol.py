"""Executors claim their name, keep their lease, and register their nodes."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from headgate.application.commands.executor_commands import LeaseKeeper
from headgate.bootstrap import Platform
from headgate.cli.operations.doctor import executors
from headgate.client.schemas import domains_of
from headgate.executor.substrates.agent.pod_template import HONOURED as AGENT
from headgate.executor.substrates.kubernetes.cluster import HONOURED as KUBERNETES
from headgate.executor.substrates.ray.cluster import HONOURED as RAY
from headgate.executor.substrates.slurm.cluster import HONOURED as SLURM
from tests.api.callers import KUEUE, Api, flavor, local_queue, workload

HOST = "kubernetes.io/hostname"
RACK = "topology-rack"


def an_executor(name: str, **spec: Any) -> dict[str, Any]:
    selected = {"nodeSelector": {"pool": name}, **spec}
    metadata = {"name": name}
    version = "headgate.dev/v1"
    return {"apiVersion": version, "kind": "Executor", "metadata": metadata, "spec": selected}


def a_node(name: str, pool: str, cpu: str = "4", **fields: Any) -> dict[str, Any]:
    labels = {"pool": pool, RACK: "r1"}
    return {"name": name, "capacity": {"cpu": cpu, "pods": 20}, "labels": labels, **fields}


class Process:
    """A process that claimed an Executor; its requests carry its epoch."""

    def __init__(self, api: Api, name: str) -> None:
        self.path, self.api = f"/v1/executors/{name}", api
        claimed = api.post(f"{self.path}/claim", {"version": "1", "capabilities": ["command"]})
        assert claimed.status_code == 200, claimed.text
        self.terms: dict[str, Any] = claimed.json()
        self.headers = {"Headgate_Executor_Epoch": str(self.terms["epoch"])}

    def get(self, path: str) -> Any:
        return self.api.get(f"{self.path}/{path}", **self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.api.post(f"{self.path}/{path}", body or {}, **self.headers)

    def register(self, *nodes: dict[str, Any]) -> Any:
        answer = self.api.put(f"{self.path}/nodes", {"nodes": list(nodes)}, **self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module", autouse=True)
def _queues(admin: Api) -> None:
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    admin.post("/v1/topologies", a_kueue_object("Topology", "racks", levels))
    for pool in ("lost", "waits", "plain", "adopts"):
        pools = flavor(pool, topologyName="racks", nodeLabels={"pool": pool})
        admin.post("/v1/resourceflavors", pools)
        quota = {"name": pool, "resources": [{"name": "cpu", "nominalQuota": "9"}]}
        groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
        spec = {"resourceGroups": groups, "namespaceSelector": {}}
        admin.post("/v1/clusterqueues", a_kueue_object("ClusterQueue", pool, spec))
        admin.post("/v1/namespaces/team-a/localqueues", local_queue(pool, pool))


def a_kueue_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def claim(admin: Api, callers: dict[str, Api]) -> Callable[..., Process]:
    def claimed(name: str, **spec: Any) -> Process:
        made = admin.post("/v1/executors", an_executor(name, **spec))
        assert made.status_code == 201, made.text
        return Process(callers["executor"], name)

    return claimed


@pytest.fixture
def end_lease(client: TestClient[Litestar], platform: Platform) -> Callable[[str], None]:
    def end(name: str) -> None:
        with platform.pool.connection() as connection:
            ended = "UPDATE executor_lease SET expires_at = 0 WHERE executor = %s"
            connection.execute(ended, (name,))
        keeper = LeaseKeeper(client.app.state.services)
        client.blocking_portal.call(keeper.end_leases)

    return end


def conditions(admin: Api, path: str) -> dict[str, tuple[str, str]]:
    status = admin.get(path).json()["status"]
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_a_claim_answers_the_terms_and_begins_an_epoch(
    admin: Api, claim: Callable[..., Process]
) -> None:
    terms = claim("terms", leaseSeconds=30, nodeLossPolicy="Fence").terms
    assert (terms["epoch"], terms["leaseSeconds"], terms["nodeLossPolicy"]) == (1, 30, "Fence")
    assert terms["rendezvousPorts"] == {"first": 20000, "last": 29999}
    assert terms["logRetention"] == {"maxMebibytes": 16, "afterFinishedSeconds": 604800}
    assert not terms["nodesReady"]
    assert terms["logId"]
    assert len(terms["chain"]) == 64
    shown = admin.get("/v1/executors/terms").json()["status"]
    assert (shown["epoch"], shown["version"], shown["capabilities"]) == (1, "1", ["command"])
    assert conditions(admin, "/v1/executors/terms")["Connected"] == ("True", "Connected")


def test_doctor_tells_what_each_executor_has_and_lacks(
    admin: Api,
    platform: Platform,
    claim: Callable[..., Process],
    end_lease: Callable[[str], None],
) -> None:
    admin.post("/v1/executors", an_executor("doctor-never"))
    claim("doctor-bare")
    claim("doctor-lost").register(a_node("doctor-2", "doctor-lost"))
    claim("doctor-well").register(a_node("doctor-1", "doctor-well"))
    end_lease("doctor-lost")
    found = {finding.text.split(" ")[0]: finding for finding in executors(platform)}
    levels = {name: found[f"doctor-{name}"].level for name in ("never", "bare", "lost", "well")}
    assert levels == {"never": "warn", "bare": "warn", "lost": "warn", "well": "ok"}
    assert "on 1 node, lacks activeDeadlineSeconds, args" in found["doctor-well"].text
    assert "No node is registered" in found["doctor-bare"].remedy
    assert "does not answer" in found["doctor-lost"].remedy


@pytest.mark.parametrize("honoured", [AGENT, KUBERNETES, RAY, SLURM])
def test_a_claim_may_declare_all_that_an_executor_honours(
    claim: Callable[..., Process], honoured: tuple[str, ...]
) -> None:
    process = claim(f"declares-{sha256(str(honoured).encode()).hexdigest()[:8]}")
    body = {"version": "1", "capabilities": list(honoured)}
    answer = process.api.post(f"{process.path}/claim", body)
    assert answer.status_code == 200, answer.text


def test_a_newer_process_supersedes_the_older_one(claim: Callable[..., Process]) -> None:
    first = claim("twice")
    assert first.post("lease", {"runningPods": 3}).json()["epoch"] == 1
    second = Process(first.api, "twice")
    assert second.terms["epoch"] == 2
    for answer in (
        first.post("lease"),
        first.api.put(f"{first.path}/nodes", {"nodes": []}, **first.headers),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "ExecutorSuperseded")
    assert second.post("lease").status_code == 200


def test_a_process_on_another_host_is_refused_until_the_lease_has_ended(
    claim: Callable[..., Process], end_lease: Callable[[str], None]
) -> None:
    first = claim("one-host", leaseSeconds=30)
    path, here = f"{first.path}/claim", {"version": "1", "bootId": "here"}
    first.headers = {"Headgate_Executor_Epoch": str(first.api.post(path, here).json()["epoch"])}
    there = {**here, "bootId": "there"}
    refused = first.api.post(path, there)
    assert (refused.status_code, refused.json()["code"]) == (409, "ExecutorOnOtherHost")
    assert "30 seconds" in refused.json()["remedy"]
    assert first.post("lease").status_code == 200, "the first one goes on"
    end_lease("one-host")
    assert first.api.post(path, there).json()["epoch"] == 3
    assert first.post("lease").json()["code"] == "ExecutorSuperseded"


def test_a_request_without_an_epoch_or_an_executor_is_refused(
    claim: Callable[..., Process], callers: dict[str, Api]
) -> None:
    claim("no-epoch")
    missing = callers["executor"].post("/v1/executors/no-epoch/lease", {"runningPods": 0})
    assert (missing.status_code, missing.json()["errors"][0]["code"]) == (
        422,
        "ExecutorEpochMissing",
    )
    unknown = callers["executor"].post("/v1/executors/nobody/claim", {})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "ObjectNotFound")
    refused = callers["submitter"].post("/v1/executors/no-epoch/claim", {})
    assert refused.status_code == 403


def test_leases_are_no_events(claim: Callable[..., Process]) -> None:
    process = claim("quiet")
    before = process.post("lease").json()["position"]
    for _ in range(3):
        assert process.post("lease", {"runningPods": 1}).json()["position"] == before


def test_leases_last_longer_by_the_time_in_which_the_api_was_away(
    platform: Platform, claim: Callable[..., Process]
) -> None:
    """Given an hour without an API, a lease that ended in it goes on, and an older end stays."""
    # The API says so every some seconds; here it may not have done so yet.
    platform.leases.serve(max_gap_seconds=5)
    claim("was-away", leaseSeconds=30)
    claim("had-ended", leaseSeconds=30)
    away = "UPDATE api_service SET served_at = served_at - 3600 * 1000000::bigint"
    ends = (
        "UPDATE executor_lease SET expires_at = expires_at - %s * 1000000::bigint"
        " WHERE executor = %s"
    )
    with platform.pool.connection() as connection:
        connection.execute(away)
        connection.execute(ends, (1_800, "was-away"))
        connection.execute(ends, (7_200, "had-ended"))
    found = {each.executor: each.has_ended for each in platform.leases.serve(max_gap_seconds=5)}
    assert (found["was-away"], found["had-ended"]) == (False, True)


def test_nodes_register_and_what_an_administrator_set_stays(
    admin: Api, claim: Callable[..., Process]
) -> None:
    process = claim("reg")
    gpu: dict[str, Any] = {"resource": "nvidia.com/gpu", "id": "GPU-1", "model": "H100"}
    gpu |= {"memory": "80Gi", "uncorrectedErrors": 3}
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    told = process.register(a_node("reg-1", "reg", devices=[gpu], taints=[taint]))
    assert told["nodes"] == [{"name": "reg-1", "accepted": True}]
    found = admin.get("/v1/nodes/reg-1").json()
    assert found["metadata"]["labels"] == {"pool": "reg", RACK: "r1", HOST: "reg-1"}
    assert found["status"]["executor"] == "reg"
    assert found["status"]["devices"][0]["memoryBytes"] == 80 * 2**30
    assert found["status"]["devices"][0]["uncorrectedErrors"] == 3
    allocation = admin.get("/v1/nodes/reg-1/allocation").json()
    assert (allocation["models"], allocation["deviceErrors"]) == (["H100"], 3)
    admin.post("/v1/nodes/reg-1/cordon", {"reason": "disk"})
    labels = {**found["metadata"]["labels"], "owner": "ops"}
    body = {**found, "metadata": {"name": "reg-1", "labels": labels}}
    body["spec"] = {"taints": [taint, {"key": "ours", "effect": "NoSchedule"}]}
    assert admin.put("/v1/nodes/reg-1", body, If_Match="*").status_code == 200
    process.register(a_node("reg-1", "reg", cpu="8"))
    found = admin.get("/v1/nodes/reg-1").json()
    assert found["spec"]["unschedulable"]
    assert found["metadata"]["labels"]["owner"] == "ops"
    assert [each["key"] for each in found["spec"]["taints"]] == ["ours"]
    assert found["status"]["allocatable"]["cpu"] == "8"
    process.register(a_node("reg-1", "reg", cpu="8", usedByOthers={"cpu": "3"}))
    process.register(a_node("reg-1", "reg", cpu="8"))
    found = admin.get("/v1/nodes/reg-1").json()
    assert found["status"]["usedByOthers"] == {"cpu": "3"}
    version = found["metadata"]["resourceVersion"]
    process.register(a_node("reg-1", "reg", cpu="8"))
    assert admin.get("/v1/nodes/reg-1").json()["metadata"]["resourceVersion"] == version


def test_one_bad_node_does_not_stop_the_others(claim: Callable[..., Process]) -> None:
    process = claim("bad")
    told = process.register(
        a_node("bad-1", "another-pool"), a_node("bad-2", "bad", cpu="many"), a_node("bad-3", "bad")
    )
    outcomes = [(each["name"], each["accepted"], each.get("code", "")) for each in told["nodes"]]
    assert outcomes[0] == ("bad-1", False, "NodeNotSelected")
    assert outcomes[1][:2] == ("bad-2", False)
    assert outcomes[2] == ("bad-3", True, "")


def test_a_node_that_is_registered_no_more_is_not_ready(
    admin: Api, claim: Callable[..., Process]
) -> None:
    process = claim("fewer")
    process.register(a_node("fewer-1", "fewer"), a_node("fewer-2", "fewer"))
    process.register(a_node("fewer-2", "fewer"))
    assert conditions(admin, "/v1/nodes/fewer-1")["Ready"] == ("False", "NodeNotReady")
    assert conditions(admin, "/v1/nodes/fewer-2")["Ready"] == ("True", "NodeReady")


def test_of_two_executors_of_a_node_the_younger_is_inactive(
    admin: Api, claim: Callable[..., Process], callers: dict[str, Api]
) -> None:
    claim("older").register(a_node("shared-1", "older"))
    admin.post("/v1/executors", an_executor("younger", nodeSelector={"pool": "older"}))
    refused = callers["executor"].post("/v1/executors/younger/claim", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "ExecutorInactive")
    assert conditions(admin, "/v1/executors/younger")["Active"] == ("False", "NodeShared")
    assert conditions(admin, "/v1/executors/older")["Active"] == ("True", "Active")


def gang(count: int) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    request = {"preferred": RACK}
    return {"name": "main", "count": count, "template": {"spec": pod}, "topologyRequest": request}


def hosts_of(found: dict[str, Any]) -> set[str]:
    (given,) = found["status"]["admission"]["podSetAssignments"]
    return {values[-1] for values, _ in domains_of(given["topologyAssignment"])}


def test_a_pod_that_needs_more_than_executors_declare_is_told_so_and_gets_no_quota(
    admin: Api,
    claim: Callable[..., Process],
    schedule: Callable[[], int],
    submitted: Callable[..., dict[str, Any]],
) -> None:
    process = claim("plain")
    process.register(a_node("host-plain", "plain"))
    pods = gang(1)
    pods["template"]["spec"]["containers"][0] |= {"command": ["true"], "image": "train:7"}
    shown = submitted("with-image", "plain", podSets=[pods])
    assert "admission" not in shown["status"]
    path = "/v1/namespaces/team-a/workloads/with-image"
    explained = admin.caught_up(f"{path}/explanation", schedule()).text
    assert "no executor of it (plain) honours image of the pod template" in explained
    assert "Remove image from pod set main" in explained
    claimed = {"version": "2", "capabilities": ["command", "image"]}
    assert process.api.post(f"{process.path}/claim", claimed).status_code == 200
    process.headers = {"Headgate_Executor_Epoch": "2"}
    process.register(a_node("host-plain", "plain"))
    assert hosts_of(admin.caught_up(path, schedule()).json()) == {"host-plain"}
    admin.post(f"{path}/cancel", {"reason": "done"})


@pytest.fixture
def lose(
    admin: Api, schedule: Callable[[], int], end_lease: Callable[[str], None]
) -> Callable[[str, str], dict[str, Any]]:
    """End the lease of an executor and let a worker act; the workload as it is then."""

    def lost(executor: str, workload: str) -> dict[str, Any]:
        end_lease(executor)
        path = f"/v1/namespaces/team-a/workloads/{workload}"
        found: dict[str, Any] = admin.caught_up(path, schedule()).json()
        return found

    return lost


@pytest.mark.parametrize(
    ("pool", "policy", "moves"),
    [
        ("lost", "", True),
        ("lost", "Wait", False),
        ("waits", "", False),
        ("waits", "Replace", True),
    ],
)
def test_pods_of_a_lost_executor_move_or_wait(  # noqa: PLR0913, PLR0917 - three columns of a table
    admin: Api,
    callers: dict[str, Api],
    submitted: Callable[..., dict[str, Any]],
    lose: Callable[[str, str], dict[str, Any]],
    pool: str,
    policy: str,
    moves: bool,
) -> None:
    names = (f"{pool}-a", f"{pool}-b")
    for name in names:
        of_pool = {"lost": "Replace", "waits": "Wait"}[pool]
        selector = {"pool": pool, "of": name}
        made = an_executor(name, nodeSelector=selector, nodeLossPolicy=of_pool)
        admin.post("/v1/executors", made)
    labels = {name: {"pool": pool, RACK: "r1", "of": name} for name in names}
    processes = {name: Process(callers["executor"], name) for name in names}
    for name, process in processes.items():
        process.register({**a_node(f"host-{name}", pool), "labels": labels[name]})
    workload = f"{pool}-{policy or 'default'}".lower()
    own = {"nodeLossPolicy": policy} if policy else {}
    (host,) = hosts_of(submitted(workload, pool, podSets=[gang(2)], **own))
    executor = host.removeprefix("host-")
    other = {f"host-{name}" for name in names} - {host}
    assert hosts_of(lose(executor, workload)) == (other if moves else {host})
    assert conditions(admin, f"/v1/nodes/{host}")["Ready"] == ("False", "ExecutorLost")
    assert conditions(admin, f"/v1/executors/{executor}")["Connected"] == ("False", "LeaseEnded")
    assert not processes[executor].post("lease").json()["nodesReady"]
    processes[executor].register({**a_node(host, pool), "labels": labels[executor]})
    assert processes[executor].post("lease").json()["nodesReady"]
    admin.post(f"/v1/namespaces/team-a/workloads/{workload}/cancel", {"reason": "done"})


def an_orphan(name: str, node: str) -> dict[str, Any]:
    lost = {"workload": "team-b/lost", "podSet": "main", "index": 0, "attempt": 3, "run": 2}
    return {"id": name, "node": node, **lost}


def test_orphans_are_decided_on_and_take_their_room_on_nodes(
    admin: Api,
    callers: dict[str, Api],
    claim: Callable[..., Process],
) -> None:
    process = claim("with-orphans")
    node = a_node("orphaned", "with-orphans")
    registered = process.register({**node, "usedByOthers": {"cpu": "3", "pods": "1"}})
    assert registered["nodes"] == [{"name": "orphaned", "accepted": True}]
    told = {"orphans": [an_orphan("a1", "orphaned"), an_orphan("b2", "orphaned")]}
    answer = process.api.put(f"{process.path}/orphans", told, **process.headers)
    assert answer.status_code == 200, answer.text
    alert = next(
        each
        for each in admin.caught_up("/v1/overview", answer.json()["position"]).json()["attention"]
        if each["kind"] == "OrphanedPods" and "with-orphans" in each["title"]
    )
    assert alert["title"] == "2 orphaned pods of executor with-orphans"
    assert "use capacity of orphaned." in alert["detail"]
    decided = {"pods": ["a1"], "decision": "Kill", "reason": "not needed"}
    path = f"{process.path}/orphans/decisions"
    for role in ("viewer", "executor", "submitter"):
        assert callers[role].post(path, decided).status_code == 403
        assert callers[role].get("/v1/orphans").status_code == 403
    assert admin.post(path, decided).status_code == 200
    assert admin.post(path, {**decided, "pods": ["none"]}).status_code == 404
    assert admin.post(path, {**decided, "decision": "Keep"}).status_code == 409
    expected = {"a1": "Kill", "b2": None}
    listed = {each["id"]: each for each in orphans_at(admin, "with-orphans")}
    assert {key: each.get("decision") for key, each in listed.items()} == expected
    assert (listed["a1"]["attempt"], listed["a1"]["run"]) == (3, 2)
    known = {
        each["id"]: each.get("decision") for each in process.get("assignments").json()["orphans"]
    }
    assert known == expected
    shown = callers["submitter"].get("/v1/events?stream=executor/with-orphans").text
    assert "executor.orphans_reported" in shown
    assert "team-b/lost" not in shown
    used = [used_by_others(admin, "orphaned")]
    unchanged: dict[str, Any] = {}
    for others in (unchanged, {"usedByOthers": unchanged}):
        process.register({**node, **others})
        used.append(used_by_others(admin, "orphaned"))
    assert used == [{"cpu": "3", "pods": "1"}] * 2 + [{}]
    process.api.put(f"{process.path}/orphans", {"orphans": []}, **process.headers)
    assert orphans_at(admin, "with-orphans") == []


def orphans_at(api: Api, executor: str) -> list[dict[str, Any]]:
    """The listed orphans of an executor; other tests have others."""
    items = api.get("/v1/orphans").json()["items"]
    return [each for each in items if each["executor"] == executor]


def adopt(api: Api, *names: str) -> list[dict[str, Any]]:
    """The result of each workload that is to take its orphaned pods over."""
    items = [workload(name, queue="adopts") for name in names]
    answer = api.post("/v1/apply?import=Orphans", {"kind": "List", "items": items})
    return list(answer.json().get("results", ())) or [answer.json()]


def orphans_of(name: str, uid: str, **fields: Any) -> list[dict[str, Any]]:
    """Both pods of a workload, in its attempt 3."""
    known = {"workload": f"team-a/{name}", "uid": uid, "podSet": "main", "attempt": 3, **fields}
    return [
        {"id": f"{name}-{index}", "index": index, "node": "adopts-1", **known} for index in (0, 1)
    ]


def test_orphaned_pods_are_adopted_as_the_attempt_that_they_are(
    admin: Api, callers: dict[str, Api], claim: Callable[..., Process]
) -> None:
    process = claim("adopts")
    process.register(a_node("adopts-1", "adopts"))
    made = admin.post("/v1/namespaces/team-a/workloads", workload("known", queue="adopts"))
    present = made.json()["metadata"]["uid"]
    orphans = [*orphans_of("known", present), *orphans_of("lost", "of-another-log")]
    process.api.put(f"{process.path}/orphans", {"orphans": orphans}, **process.headers)
    (refused,) = adopt(callers["submitter"], "lost")
    assert refused["problem"]["status"] == 403
    found = adopt(admin, "known", "lost")
    assert [each["outcome"] for each in found] == ["changed", "created"]
    assert [each["outcome"] for each in adopt(admin, "known", "lost")] == ["unchanged"] * 2
    uids = {"known": present, "lost": "of-another-log"}
    items = {each["workload"]: each for each in process.get("assignments").json()["items"]}
    for name, uid in uids.items():
        shown = admin.get(f"/v1/namespaces/team-a/workloads/{name}").json()
        assert (shown["metadata"]["uid"], shown["status"]["phase"]) == (uid, "Running")
        (given,) = shown["status"]["admission"]["podSetAssignments"]
        assert given["resourceUsage"] == {"cpu": "2"}
        item = items[f"team-a/{name}"]
        assert (item["uid"], item["attempt"]) == (uid, 3)
        expected = [(0, 1, "adopts-1", True), (1, 1, "adopts-1", True)]
        pods = item["podSets"][0]["pods"]
        assert [(p["index"], p["run"], p["node"], p["started"]) for p in pods] == expected
    ended = {"workload": "team-a/lost", "uid": "of-another-log", "attempt": 3, "podSet": "main"}
    reports = [
        {**ended, "index": index, "run": 1, "type": "finished", "exitCode": 0} for index in (0, 1)
    ]
    answered = process.post("reports", {"reports": reports}).json()
    assert [each["accepted"] for each in answered["outcomes"]] == [True, True]
    after = admin.get("/v1/namespaces/team-a/workloads/lost").json()
    assert after["status"]["phase"] == "Succeeded"


def test_orphaned_pods_that_no_attempt_explains_are_not_adopted(
    admin: Api, claim: Callable[..., Process]
) -> None:
    process = claim("refuses", nodeSelector={"pool": "adopts", "kind": "refuses"})
    other = admin.post("/v1/namespaces/team-a/workloads", workload("other", queue="adopts"))
    assert other.status_code == 201
    first, second = orphans_of("half", "u1")
    orphans = [
        first,
        *orphans_of("moved", "u2", run=2),
        *orphans_of("nameless", ""),
        *orphans_of("other", "u4"),
        *orphans_of("elsewhere", "u5"),
        *orphans_of("killed", "u6"),
    ]
    process.api.put(f"{process.path}/orphans", {"orphans": orphans}, **process.headers)
    killed = {"pods": ["killed-0", "killed-1"], "decision": "Kill"}
    assert admin.post(f"{process.path}/orphans/decisions", killed).status_code == 200
    names = ("half", "moved", "nameless", "other", "elsewhere", "killed", "nothing")
    problems = [each["problem"] for each in adopt(admin, *names)]
    codes = [(each.get("errors") or [each])[0]["code"] for each in problems]
    assert second not in orphans
    assert codes == [
        "OrphansAreNotAllPods",
        "OrphansWereMoved",
        "OrphansWithoutUid",
        "OrphansOfOtherWorkload",
        "OrphansOfNoFlavor",
        "WorkloadHasNoOrphans",
        "WorkloadHasNoOrphans",
    ]


def test_all_nodes_of_an_executor_are_drained_as_one_and_taken_back(
    admin: Api, claim: Callable[..., Process], schedule: Callable[[], int]
) -> None:
    process = claim("drains")
    admin.post("/v1/resourceflavors", flavor("drains", nodeLabels={"pool": "drains"}))
    process.register(a_node("drains-1", "drains"), a_node("drains-2", "drains"))
    other = claim("beside")
    other.register(a_node("beside-1", "beside"))
    before = admin.get("/v1/executors/drains/drain-preview").json()
    assert (before["nodes"], before["workloads"]) == (["drains-1", "drains-2"], [])
    assert not admin.get("/v1/nodes/drains-1").json()["spec"]["unschedulable"]

    told = admin.post("/v1/executors/drains/drain", {"reason": "new switch"})

    assert told.json()["nodes"] == ["drains-1", "drains-2"]
    for name in ("drains-1", "drains-2"):
        assert admin.get(f"/v1/nodes/{name}").json()["spec"]["draining"] is True
    assert "draining" not in admin.get("/v1/nodes/beside-1").json()["spec"]
    assert admin.post("/v1/executors/drains/drain", {"reason": "again"}).json()["nodes"] == []
    (event, _) = admin.get("/v1/events?type=node.drain_started").json()["items"]
    assert event["reason"] == "new switch"
    back = admin.post("/v1/executors/drains/uncordon", {})
    assert back.json()["nodes"] == ["drains-1", "drains-2"]
    assert "draining" not in admin.get("/v1/nodes/drains-2").json()["spec"]
    schedule()


def test_an_executor_without_nodes_is_not_drained(
    admin: Api, callers: dict[str, Api], claim: Callable[..., Process]
) -> None:
    claim("nodeless")
    refused = admin.post("/v1/executors/nodeless/drain", {"reason": "x"})
    assert (refused.status_code, refused.json()["code"]) == (409, "ExecutorHasNoNodes")
    assert "headgate drain cq/NAME" in refused.json()["remedy"]
    assert admin.get("/v1/executors/nodeless/drain-preview").json()["nodes"] == []
    assert admin.get("/v1/executors/nowhere/drain-preview").status_code == 404
    assert admin.post("/v1/executors/nowhere/drain", {"reason": "x"}).status_code == 404
    assert callers["submitter"].post("/v1/executors/nodeless/drain", {}).status_code == 403


def used_by_others(admin: Api, node: str) -> Any:
    return admin.get(f"/v1/nodes/{node}").json()["status"].get("usedByOthers", {})
