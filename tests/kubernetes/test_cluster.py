"""What the Kubernetes executor does beyond the contract of substrates."""

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import msgspec
import pytest

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.cli.operations.findings import kubernetes
from headgate.domain.values.capabilities import KUBERNETES_CAPABILITIES, required_capabilities
from headgate.executor.assignments import AssignedPod, Assignment, Order
from headgate.executor.core import ExecutorCore, RunAnswer
from headgate.executor.reconcile import RunReport
from headgate.executor.substrate import CannotStart, RunEnd, SessionPlan
from headgate.executor.substrates.kubernetes import cluster as kubernetes_cluster
from headgate.executor.substrates.kubernetes.access import NoAccess, find_access
from headgate.executor.substrates.kubernetes.cluster import KubernetesCluster
from headgate.executor.substrates.kubernetes.pod_manifest import FINALIZER, ManifestRules
from tests.executors.pods import assignment_of, eventually, key_of, output_of, own_name, plan_of
from tests.kubernetes import api_double
from tests.kubernetes.api_double import ApiDouble
from tests.kubernetes.builders import EXECUTOR, cluster_of, podded
from tests.kubernetes.kubelet import Cluster
from tests.kubernetes.object_store import Object

EVICTION = Order(id="e1", reason="Preempted")


class Executor:
    """A core over the substrate, and what it has reported."""

    def __init__(self, cluster: Cluster, directory: Path, **settings: Any) -> None:
        self._cluster, self._directory, self._settings = cluster, directory, settings
        self.substrate: KubernetesCluster = cluster_of(cluster, directory, **settings)
        self.core = ExecutorCore(
            self.substrate, directory / "core", now=wall_clock, say=lambda _line: None
        )

    def close(self) -> None:
        self.core.close()
        self.substrate.close()

    def assign(self, *assignments: Assignment) -> None:
        self.core.replace_assignments(self.core.position + 1, "log-1", assignments)

    def until(self, look: Callable[[], bool]) -> None:
        def step() -> bool:
            self.core.step()
            if look():
                return True
            self.substrate.wait(0.05)
            return False

        eventually(step)

    def reports(self, kind: str) -> list[RunReport]:
        return [each for each in self.core.unanswered(1000) if each.type == kind]

    def end(self) -> RunReport:
        """The report of the end of the only pod."""
        self.until(lambda: bool(self.reports("finished") or self.reports("stopped")))
        (found,) = self.reports("finished") or self.reports("stopped")
        return found


@pytest.fixture
def executor(cluster: Cluster, tmp_path: Path) -> Iterator[Executor]:
    made = Executor(cluster, tmp_path)
    yield made
    made.close()


def pod_of(cluster: Cluster, name: str = "") -> Object:
    found = cluster.pod(name or own_name())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("fault", "reason", "words"),
    [
        ("InvalidImageName", "StartFailed", "no such image"),
        ("ErrImagePull", "StartFailed", "no such image"),
        ("OOMKilled", "OOMKilled", ""),
    ],
)
def test_a_pod_that_cannot_run_tells_why(
    cluster: Cluster, tmp_path: Path, fault: str, reason: str, words: str
) -> None:
    executor = Executor(cluster, tmp_path, start_seconds=0.1)
    executor.assign(assignment_of(podded(fault=fault)))
    report = executor.end()
    executor.close()
    assert report.reason == reason
    assert words in report.message


@pytest.mark.parametrize("code", [0, 3])
def test_the_termination_message_of_a_pod_is_its_result(
    cluster: Cluster, executor: Executor, code: int
) -> None:
    template = podded(exit_code=code)
    template["metadata"]["annotations"]["test/result"] = "loss=0.1\n"
    template["spec"]["containers"][0]["terminationMessagePath"] = "/tmp/result"
    executor.assign(assignment_of(template))
    report = executor.end()
    assert (report.exit_code, report.result) == (code, "loss=0.1")
    variables = pod_of(cluster)["spec"]["containers"][0]["env"]
    assert {"name": "HEADGATE_RESULT_FILE", "value": "/tmp/result"} in variables


def test_an_image_that_may_still_come_is_waited_for(cluster: Cluster, executor: Executor) -> None:
    executor.assign(assignment_of(podded(fault="ErrImagePull")))

    def waits() -> bool:
        statuses = (cluster.pod(own_name()) or {}).get("status", {}).get("containerStatuses", [])
        return any("waiting" in each["state"] for each in statuses)

    executor.until(waits)
    for _ in range(3):
        executor.core.step()
        executor.substrate.wait(0.02)
    assert executor.core.unanswered(9) == []
    assert "deletionTimestamp" not in pod_of(cluster)["metadata"]


def test_a_pod_that_the_kubelet_evicts_is_lost_by_no_fault_of_its_own(
    cluster: Cluster, executor: Executor
) -> None:
    executor.assign(assignment_of(podded(lasts=True)))
    executor.until(lambda: bool(executor.reports("ready")))
    cluster.evict_by_kubelet(own_name())
    report = executor.end()
    assert report.reason == "NodeLost"
    assert "The node was low on resource: memory." in report.message


def test_a_pod_that_another_deletes_keeps_its_exit_code(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    executor.assign(assignment_of(podded(lasts=True)))
    executor.until(lambda: bool(executor.reports("ready")))
    api.do(lambda: api.delete(("pods", "team-a", own_name()), None))
    report = executor.end()
    assert (report.reason, report.exit_code) == ("Error", 143)
    assert "deleted by another" in report.message


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"webhook_denies": "app=train"}, "a webhook denies it"),
        ({"namespace": "team-b"}, "the namespace is missing"),
    ],
)
def test_a_pod_that_the_server_refuses_fails_with_its_words(
    api: ApiDouble, executor: Executor, fault: dict[str, str], words: str
) -> None:
    api.webhook_denies = fault.get("webhook_denies", "")
    template = podded()
    template["metadata"]["labels"] = {"app": "train"}
    workload = f"{fault.get('namespace', 'team-a')}/train"
    executor.assign(assignment_of(template, workload=workload))
    report = executor.end()
    assert report.reason == "StartFailed"
    assert words in report.message


@pytest.mark.parametrize("fault", ["webhook_failures", "overloads"])
def test_a_server_that_is_not_able_now_is_asked_again(
    api: ApiDouble, cluster: Cluster, executor: Executor, fault: str
) -> None:
    setattr(api, fault, 1)
    executor.assign(assignment_of(podded()))
    report = executor.end()
    assert (report.reason, report.exit_code) == ("Completed", 0)
    assert cluster.starts[own_name()] == 1


def test_an_overloaded_server_is_left_alone_as_long_as_it_asks(
    api: ApiDouble, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_cluster, "RETRY_SECONDS", 0.0)
    api.overloads, api.retry_after = 1, "1"
    began = elapsed_seconds()
    executor.assign(assignment_of(podded()))
    assert executor.end().reason == "Completed"
    assert elapsed_seconds() - began >= 1.0


def test_a_token_that_is_refused_for_a_while_fails_no_pod(
    api: ApiDouble, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_cluster, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(api_double, "TOKEN", "another")
    executor.assign(assignment_of(podded()))
    executor.core.step()
    assert executor.core.unanswered(9) == []
    monkeypatch.undo()
    assert executor.end().reason == "Completed"


def test_authorities_without_a_key_identifier_are_trusted_as_by_kubectl(
    api: ApiDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 refuses them by default; those of EKS have none."""
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    monkeypatch.setattr(ssl, "create_default_context", lambda **_given: strict)
    api.kubeconfig(tmp_path / "config")
    config = (tmp_path / "config").read_text().replace("http:", "https:")
    (tmp_path / "config").write_text(config)
    tls = find_access(str(tmp_path / "config")).tls
    assert not tls.verify_flags & ssl.VERIFY_X509_STRICT
    assert tls.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("content", "context", "told"),
    [
        ("", "gpu", "There is no context gpu in"),
        ("{}", "", "names no context"),
        (None, "", "There is no kubeconfig at"),
    ],
)
def test_a_cluster_that_is_not_found_is_told_by_its_file(
    tmp_path: Path, content: str | None, context: str, told: str
) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(NoAccess, match=told):
        find_access(str(path), context)


def test_a_pod_that_was_not_created_is_stopped_without_one(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    """An order comes while the server does not answer whether the pod was created."""
    api.overloads = 1
    given = assignment_of(podded(lasts=True))
    executor.assign(given)
    executor.core.step()
    executor.assign(msgspec.structs.replace(given, eviction=EVICTION))
    executor.until(lambda: bool(executor.reports("stopped")))
    assert cluster.pod(own_name()) is None
    assert cluster.starts[own_name()] == 0


def test_a_name_that_another_pod_has_is_not_taken_for_the_run(
    api: ApiDouble, executor: Executor
) -> None:
    other = {
        "metadata": {"name": own_name()},
        "spec": {"containers": []},
        "status": {"phase": "Pending"},
    }
    api.do(lambda: api.store.create("pods", "team-a", other))
    executor.assign(assignment_of(podded()))
    report = executor.end()
    assert report.reason == "StartFailed"
    assert "another pod of Kubernetes has the name" in report.message


def test_an_eviction_gives_the_time_that_is_left(cluster: Cluster, executor: Executor) -> None:
    given = assignment_of(podded(lasts=True, terminationGracePeriodSeconds=600))
    executor.assign(given)
    executor.until(lambda: bool(executor.reports("ready")))
    deadline = (datetime.now(UTC) + timedelta(seconds=90)).isoformat()
    order = msgspec.structs.replace(EVICTION, deadline=deadline)
    found: list[int] = []

    def note(kind: str, _key: Any, made: Object) -> None:
        if "deletionGracePeriodSeconds" in made["metadata"]:
            found.append(made["metadata"]["deletionGracePeriodSeconds"])

    cluster.api.do(lambda: cluster.api.store.listeners.append(note))
    executor.assign(msgspec.structs.replace(given, eviction=order))
    assert executor.end().type == "stopped"
    assert 85 <= found[0] <= 90
    assert cluster.saved[own_name()] == "Preempted"


def test_an_executor_that_is_killed_amid_an_eviction_reports_it_stopped(
    cluster: Cluster, tmp_path: Path
) -> None:
    first = Executor(cluster, tmp_path)
    given = assignment_of(podded(lasts=True))
    first.assign(given)
    first.until(lambda: bool(first.reports("ready")))
    evicted = msgspec.structs.replace(given, eviction=EVICTION)
    first.assign(evicted)
    first.until(lambda: "deletionTimestamp" in pod_of(cluster)["metadata"])
    first.close()
    eventually(lambda: pod_of(cluster)["status"]["phase"] == "Succeeded")
    second = Executor(cluster, tmp_path)
    second.assign(evicted)
    report = second.end()
    second.close()
    assert report.type == "stopped"


def test_a_reported_pod_is_removed_and_one_that_is_not_keeps_its_end(
    cluster: Cluster, executor: Executor
) -> None:
    executor.assign(assignment_of(podded(exit_code=3)))
    assert executor.end().exit_code == 3
    cluster.api.do(lambda: cluster.api.delete(("pods", "team-a", own_name()), None))
    assert pod_of(cluster)["metadata"]["finalizers"] == [FINALIZER]
    executor.assign()
    answers = executor.core.unanswered(9)
    executor.core.take_answers([_accepted(each) for each in answers])
    executor.until(lambda: cluster.pod(own_name()) is None)
    executor.until(lambda: executor.substrate.observe() == {})


def _accepted(report: RunReport) -> RunAnswer:
    return RunAnswer(report=report, accepted=True)


def gang_of(template: Any, nodes: tuple[str, ...]) -> Assignment:
    given = assignment_of(template, pods=len(nodes), hosts=nodes)
    pods = tuple(
        AssignedPod(index=index, rank=index, run=1, node=node) for index, node in enumerate(nodes)
    )
    (pod_set,) = given.pod_sets
    return msgspec.structs.replace(given, pod_sets=(msgspec.structs.replace(pod_set, pods=pods),))


def test_a_gang_runs_where_it_is_placed_and_meets_by_names(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    nodes = ("host-2", "host-1", "host-2")
    executor.assign(gang_of(podded(), nodes))
    executor.until(lambda: len(executor.reports("finished")) == 3)
    pods = [pod_of(cluster, key_of(rank).name) for rank in range(3)]
    assert [pod["spec"]["nodeName"] for pod in pods] == list(nodes)
    group = pods[0]["spec"]["subdomain"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["r0", "r1", "r2"]
    first = f"r0.{group}.team-a.svc"
    for pod in pods:
        variables = {
            each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]
        }
        assert variables["MASTER_ADDR"] == first
        assert variables["HEADGATE_RENDEZVOUS"] == f"{first}:20001"
        hosts = pod["metadata"]["annotations"]["headgate.dev/hosts"]
        assert hosts == "".join(f"r{rank}.{group}.team-a.svc\n" for rank in range(3))
    service = api.do(lambda: api.store.find("services", "team-a", group))
    assert service is not None
    assert service["spec"]["selector"].items() <= pods[0]["metadata"]["labels"].items()
    executor.assign()
    executor.core.take_answers([_accepted(each) for each in executor.core.unanswered(99)])
    executor.until(lambda: cluster.pods() == [])
    executor.until(lambda: api.do(lambda: api.store.find("services", "team-a", group)) is None)


def test_hosts_of_a_large_gang_stand_in_a_map_that_goes_with_it(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    given = assignment_of(podded(), hosts=("host-1",) * 300, world_size=300)
    executor.assign(given)
    executor.end()
    pod = pod_of(cluster)
    group = pod["spec"]["subdomain"]
    assert "headgate.dev/hosts" not in pod["metadata"]["annotations"]
    found = api.do(lambda: api.store.find("configmaps", "team-a", group))
    assert found is not None
    assert found["data"]["hosts"].splitlines()[299] == f"r299.{group}.team-a.svc"
    executor.assign()
    executor.core.take_answers([_accepted(each) for each in executor.core.unanswered(99)])
    executor.until(lambda: api.do(lambda: api.store.find("configmaps", "team-a", group)) is None)


def test_each_pod_costs_the_server_two_changes_and_the_reading_of_its_output(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    """Created, and let go by the finalizer; all are deleted by few requests."""
    executor.assign(gang_of(podded(output="a line"), ("host-1",) * 8))
    executor.until(lambda: len(executor.reports("finished")) == 8)
    for index in range(8):
        assert output_of(executor.substrate, key_of(index)) == "a line\n"
    executor.assign()
    executor.core.take_answers([_accepted(each) for each in executor.core.unanswered(99)])
    executor.until(lambda: cluster.pods() == [])
    pods = "/api/v1/namespaces/{namespace}/pods"
    counted = {each: api.requests[each] for each in (f"POST {pods}", f"PATCH {pods}/{{name}}")}
    assert counted == {f"POST {pods}": 8, f"PATCH {pods}/{{name}}": 8}
    assert api.requests[f"DELETE {pods}/{{name}}"] == 0
    assert 1 <= api.requests[f"DELETE {pods}"] <= 8
    assert api.requests[f"GET {pods}/{{name}}"] == 0
    assert 8 <= api.requests[f"GET {pods}/{{name}}/log"] <= 16
    assert api.requests["POST /api/v1/namespaces/{namespace}/services"] == 1


def test_released_pods_are_deleted_together_after_a_while(
    api: ApiDouble, cluster: Cluster, tmp_path: Path
) -> None:
    """Pods of others that carry the label of another executor stay."""
    executor = Executor(cluster, tmp_path, removal_seconds=0.5)
    other = {"headgate.dev/executor": "other", "headgate.dev/released": "true"}
    gate = [{"name": "wait"}]
    body = {"metadata": {"name": "other", "labels": other}, "spec": {"schedulingGates": gate}}
    api.do(lambda: api.store.create("pods", "team-a", {**body, "status": {}}))
    executor.assign(gang_of(podded(), ("host-1", "host-2", "host-1")))
    executor.until(lambda: len(executor.reports("finished")) == 3)
    executor.assign()
    executor.core.take_answers([_accepted(each) for each in executor.core.unanswered(99)])
    executor.until(lambda: len(cluster.pods()) == 1)
    executor.close()
    assert [pod["metadata"]["name"] for pod in cluster.pods()] == ["other"]
    assert api.requests["DELETE /api/v1/namespaces/{namespace}/pods"] == 1


def test_a_pod_that_an_earlier_process_released_is_deleted(
    api: ApiDouble, cluster: Cluster, tmp_path: Path
) -> None:
    first = Executor(cluster, tmp_path, removal_seconds=3600.0)
    first.assign(assignment_of(podded()))
    first.end()
    first.assign()
    first.core.take_answers([_accepted(each) for each in first.core.unanswered(9)])
    first.until(lambda: "finalizers" not in pod_of(cluster)["metadata"])
    first.close()
    second = Executor(cluster, tmp_path)
    second.assign()
    second.until(lambda: cluster.pods() == [])
    second.close()
    assert api.requests["PATCH /api/v1/namespaces/{namespace}/pods/{name}"] == 1


def test_what_is_created_is_valid_for_kubernetes(
    api: ApiDouble, cluster: Cluster, executor: Executor
) -> None:
    whole = podded(
        initContainers=[{"name": "fetch", "image": "registry.example.com/fetch"}],
        tolerations=[{"key": "own", "operator": "Exists"}],
        terminationGracePeriodSeconds=60,
    )
    executor.assign(assignment_of(whole, hosts=("host-1",) * 300, world_size=300))
    executor.end()
    objects = api.do(lambda: list(api.store.objects.items()))
    made = {key[0]: each for key, each in objects if key[0] in {"configmaps", "pods", "services"}}
    assert set(made) == {"configmaps", "pods", "services"}
    for each in made.values():
        created = {name: value for name, value in each.items() if name != "status"}
        kubernetes_validate.validate(created, "1.36", strict=True)


def test_templates_are_kept_whole(cluster: Cluster, executor: Executor) -> None:
    template = podded(
        priorityClassName="high",
        securityContext={"runAsUser": 1000},
        tolerations=[{"key": "own", "operator": "Exists"}],
        nodeSelector={"disk": "fast"},
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    )
    container = template["spec"]["containers"][0]
    container |= {
        "env": [{"name": "RANK", "value": "own"}],
        "envFrom": [{"secretRef": {"name": "s"}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    executor.assign(assignment_of(template))
    executor.until(lambda: cluster.pod(own_name()) is not None)
    made = pod_of(cluster)["spec"]
    assert made["securityContext"] == {"runAsUser": 1000}
    assert made["priorityClassName"] == "high"
    assert made["tolerations"][0] == {"key": "own", "operator": "Exists"}
    assert made["nodeSelector"] == {"disk": "fast", "kubernetes.io/hostname": "host-1"}
    assert made["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    (only,) = made["containers"]
    assert only["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert [each["value"] for each in only["env"] if each["name"] == "RANK"] == ["own"]
    assert set(required_capabilities(template)) <= KUBERNETES_CAPABILITIES
    assert "nodeName" not in KUBERNETES_CAPABILITIES


def test_defaults_of_the_administrator_and_taints_of_the_chosen_node(
    cluster: Cluster, tmp_path: Path
) -> None:
    taints = [
        {"key": "pool", "value": "gpu", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    ]
    cluster.change_node("host-1", lambda node: node["spec"].update(taints=taints))
    rules = ManifestRules(executor=EXECUTOR, priority_class="batch", service_account="runner")
    executor = Executor(cluster, tmp_path, rules=rules)
    executor.assign(assignment_of(podded()))
    executor.until(lambda: cluster.pod(own_name()) is not None)
    spec = pod_of(cluster)["spec"]
    executor.close()
    assert (spec["priorityClassName"], spec["serviceAccountName"]) == ("batch", "runner")
    tolerated = {"key": "pool", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    assert spec["tolerations"] == [tolerated]


def test_a_template_that_names_its_node_does_not_start(executor: Executor) -> None:
    with pytest.raises(CannotStart, match="nodeName"):
        executor.substrate.start(plan_of(key_of(), podded(nodeName="host-1")))


def test_a_command_beside_a_pod_is_kubectls(executor: Executor) -> None:
    with pytest.raises(CannotStart, match="kubectl exec -n team-a"):
        executor.substrate.open_session(key_of(), SessionPlan(command=("bash",)))


def nodes_of(executor: Executor) -> dict[str, Any]:
    return {node.name: node for node in executor.substrate.nodes()}


def test_nodes_have_labels_taints_and_the_use_of_others(
    cluster: Cluster, executor: Executor
) -> None:
    cluster.create_pod("daemon-1", node_name="host-1", cpu="1500m")
    cluster.change_node("host-2", lambda node: node["spec"].update(unschedulable=True))
    executor.assign(assignment_of(podded(lasts=True)))
    executor.until(lambda: bool(executor.reports("ready")))

    def look() -> bool:
        executor.substrate.observe()
        return bool(nodes_of(executor)["host-1"].used_by_others["cpu"] == "1500m")

    eventually(look)
    nodes = nodes_of(executor)
    assert nodes["host-1"].capacity["nvidia.com/gpu"] == "2"
    assert nodes["host-1"].used_by_others["pods"] == "1"
    assert nodes["host-1"].labels["headgate.dev/executor"] == EXECUTOR
    (taint,) = nodes["host-2"].taints
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")


def test_a_node_that_no_longer_answers_is_lost_and_its_pods_are_not_told_stopped(
    cluster: Cluster, executor: Executor
) -> None:
    given = assignment_of(podded(lasts=True))
    executor.assign(given)
    executor.until(lambda: bool(executor.reports("ready")))
    cluster.stop_kubelet("host-1")
    eventually(lambda: set(nodes_of(executor)) == {"host-2"})
    executor.assign(msgspec.structs.replace(given, eviction=EVICTION))
    executor.until(lambda: "deletionTimestamp" in pod_of(cluster)["metadata"])
    for _ in range(3):
        executor.core.step()
        executor.substrate.wait(0.05)
    assert executor.reports("stopped") == []
    assert RunEnd not in {type(run.end) for run in executor.substrate.observe().values()}


def test_the_doctor_tells_what_an_executor_sees_and_lacks(
    api: ApiDouble, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path / "kubeconfig")))
    cluster.stop_kubelet("host-2")
    (whole,) = kubernetes({"KUBECONFIG": "set"})
    assert (whole.level, whole.text.endswith("2 nodes, 1 not ready")) == ("ok", True)
    api.forbidden = {("jobsets", "patch"), ("pods", "create")}
    (lacking,) = kubernetes({"KUBECONFIG": "set"})
    assert lacking.level == "warn"
    assert lacking.text.endswith("may not create pods, patch jobsets.jobset.x-k8s.io")
    assert kubernetes({}) == []
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    (missing,) = kubernetes({"KUBECONFIG": "set"})
    assert missing.text.startswith("There is no kubeconfig at")
