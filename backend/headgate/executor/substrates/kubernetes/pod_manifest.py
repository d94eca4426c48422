"""Pods as they are created: the template whole, with its node, variables and files of its run.

What the executor must know again after a restart stands in annotations: it keeps no file of runs.
"""

import copy
from typing import Any

import msgspec

from headgate.domain.values.capabilities import (
    JOB,
    KUBERNETES_CAPABILITIES,
    lacking_capabilities,
)
from headgate.executor.substrate import CannotStart, Object, PodPlan, RunKey
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL, HOSTNAME
from headgate.executor.substrates.kubernetes.nodes import LOST_TAINTS, Node
from headgate.executor.substrates.kubernetes.objects import Metadata

ATTEMPT_LABEL = "headgate.dev/attempt"
RANK_LABEL = "headgate.dev/rank"
WORKLOAD_LABEL = "headgate.dev/workload"
RUN = "headgate.dev/run"
EVICTION = "headgate.dev/eviction"
HOSTS = "headgate.dev/hosts"
RELEASED_LABEL = "headgate.dev/released"
"""Of pods that have ended and were reported: they are deleted, many in one request."""
FINALIZER = "headgate.dev/exit-code"
"""Keeps a pod that was deleted until its end was reported."""

VOLUME = "headgate-run"
DIRECTORY = "/var/run/headgate"
HOSTS_FILE, EVICTION_FILE = "hosts", "eviction"
MAX_HOSTS_IN_ANNOTATION = 8 << 10
"""More bytes stand in a ConfigMap of the attempt, as annotations are repeated in every pod."""
MAX_LABEL = 63
FORBIDDEN = "nodeName"
SYSTEM_TAINTS = "node.kubernetes.io/"


class KeptRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the annotation of a pod keeps of its plan."""

    key: RunKey
    log_id: str
    node: str = ""


class ManifestRules(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator adds to all pods."""

    executor: str
    priority_class: str = ""
    service_account: str = ""


def group_of(key: RunKey) -> str:
    """Returns the name of what the pods of an attempt share: their Service and hosts."""
    return f"hg-{key.uid}-{key.attempt}"


def namespace_of(key: RunKey) -> str:
    """Returns the namespace of a run: that of its workload."""
    return key.workload.partition("/")[0]


def is_gang(plan: PodPlan) -> bool:
    """Whether the pods of the attempt meet each other."""
    return len(plan.hosts) > 1


def hosts_text(plan: PodPlan) -> str:
    """Returns the hosts by rank, one a line: names that resolve to the pods of a gang."""
    if not is_gang(plan):
        return "".join(f"{host or plan.node}\n" for host in plan.hosts)
    return "".join(f"{_host_of(plan.key, rank)}\n" for rank in range(len(plan.hosts)))


def service_of(plan: PodPlan, executor: str) -> Object:
    """Returns the headless Service by which the pods of an attempt have names."""
    name = group_of(plan.key)
    with_map = {HOSTS: "ConfigMap"} if needs_hosts_map(plan) else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": namespace_of(plan.key),
            "labels": {EXECUTOR_LABEL: executor, ATTEMPT_LABEL: name, **with_map},
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {EXECUTOR_LABEL: executor, ATTEMPT_LABEL: name},
        },
    }


def hosts_map_of(plan: PodPlan, executor: str) -> Object:
    """Returns the ConfigMap with the hosts of a gang that is too large for annotations."""
    name = group_of(plan.key)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace_of(plan.key),
            "labels": {EXECUTOR_LABEL: executor, ATTEMPT_LABEL: name},
        },
        "data": {HOSTS_FILE: hosts_text(plan)},
    }


def needs_hosts_map(plan: PodPlan) -> bool:
    """Whether the hosts of a gang do not fit into an annotation."""
    return len(hosts_text(plan)) > MAX_HOSTS_IN_ANNOTATION


def pod_of(plan: PodPlan, rules: ManifestRules, node: Node | None, *, has_rank_0: bool) -> Object:
    """Returns the pod of a run. Raises `CannotStart` for what this executor cannot honour.

    `has_rank_0` says whether rank 0 is a pod of this cluster, so that a name resolves to it.
    """
    lacking = lacking_capabilities(plan.template, KUBERNETES_CAPABILITIES)
    if lacking:
        raise CannotStart(f"this executor does not honour {', '.join(lacking)} of a pod template")
    spec: Object = copy.deepcopy(plan.template.get("spec") or {})
    rank = plan.environment.get("RANK", "0")
    spec["restartPolicy"] = "Never"
    if plan.node:
        hostname = node.hostname if node is not None else plan.node
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), HOSTNAME: hostname}
    if node is not None:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations_of(node)]
    if is_gang(plan):
        spec["hostname"], spec["subdomain"] = f"r{rank}", group_of(plan.key)
    if rules.priority_class and not spec.get("priorityClassName"):
        spec["priorityClassName"] = rules.priority_class
    if rules.service_account and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = rules.service_account
    spec["volumes"] = [*(spec.get("volumes") or ()), _volume(plan)]
    variables = _variables(plan, has_rank_0=has_rank_0)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        _complete(container, variables)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(plan, rules.executor, rank),
        "spec": spec,
    }


def kept_run(metadata: Metadata) -> KeptRun | None:
    """Returns the run of a pod of an executor; None where the pod is no run."""
    text = metadata.annotations.get(RUN)
    if text is None:
        return None
    try:
        found = msgspec.json.decode(text, type=KeptRun)
    except msgspec.DecodeError:
        return None
    is_of_job = JOB in metadata.annotations
    return found if found.key.name == metadata.name or is_of_job else None


def _metadata(plan: PodPlan, executor: str, rank: str) -> Object:
    template: dict[str, Any] = plan.template.get("metadata") or {}
    namespace, _, workload = plan.key.workload.partition("/")
    kept = KeptRun(
        key=plan.key,
        log_id=plan.log_id,
        node=plan.node,
    )
    annotations = {**(template.get("annotations") or {}), RUN: msgspec.json.encode(kept).decode()}
    if not needs_hosts_map(plan):
        annotations[HOSTS] = hosts_text(plan)
    labels = {
        **(template.get("labels") or {}),
        EXECUTOR_LABEL: executor,
        ATTEMPT_LABEL: group_of(plan.key),
        RANK_LABEL: rank,
        WORKLOAD_LABEL: workload[:MAX_LABEL].rstrip("-._"),
    }
    return {
        "name": plan.key.name,
        "namespace": namespace,
        "labels": labels,
        "annotations": annotations,
        "finalizers": [FINALIZER],
    }


def tolerations_of(node: Node) -> list[Object]:
    """Returns tolerations of the taints in spite of which a node was chosen: those of its flavor.

    Taints by the state of a node, as a cordon, are its administrators' and tolerated by none.
    """
    return [
        {"key": each.key, "operator": "Equal", "value": each.value, "effect": each.effect}
        for each in node.taints
        if not each.key.startswith(SYSTEM_TAINTS) and each.key not in LOST_TAINTS
    ]


def _volume(plan: PodPlan) -> Object:
    def of_annotation(path: str, name: str) -> Object:
        return {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{name}']"}}

    items = [of_annotation(EVICTION_FILE, EVICTION)]
    sources: list[Object] = []
    if needs_hosts_map(plan):
        path = {"key": HOSTS_FILE, "path": HOSTS_FILE}
        sources.append({"configMap": {"name": group_of(plan.key), "items": [path]}})
    else:
        items.append(of_annotation(HOSTS_FILE, HOSTS))
    return {"name": VOLUME, "projected": {"sources": [{"downwardAPI": {"items": items}}, *sources]}}


def _variables(plan: PodPlan, *, has_rank_0: bool) -> list[Object]:
    """Returns the variables of a run; rank 0 is met by the name of its pod."""
    found = dict(plan.environment)
    port = found.get("MASTER_PORT")
    if port and has_rank_0:
        host = _host_of(plan.key, 0) if is_gang(plan) else "127.0.0.1"
        found |= {"MASTER_ADDR": host, "HEADGATE_RENDEZVOUS": f"{host}:{port}"}
    found["HEADGATE_HOSTFILE"] = f"{DIRECTORY}/{HOSTS_FILE}"
    found["HEADGATE_EVICTION_FILE"] = f"{DIRECTORY}/{EVICTION_FILE}"
    node = {"name": "HEADGATE_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return [*({"name": name, "value": value} for name, value in sorted(found.items())), node]


def _complete(container: Object, variables: list[Object]) -> None:
    """Adds variables, which those of the template override, and the files of the run."""
    own = container.get("env") or []
    result = container.get("terminationMessagePath") or "/dev/termination-log"
    variables = [*variables, {"name": "HEADGATE_RESULT_FILE", "value": result}]
    names = {each.get("name") for each in own}
    container["env"] = [*(each for each in variables if each["name"] not in names), *own]
    mount = {"name": VOLUME, "mountPath": DIRECTORY, "readOnly": True}
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _host_of(key: RunKey, rank: int) -> str:
    """The name of a pod of a gang, in full below its namespace."""
    return f"r{rank}.{group_of(key)}.{namespace_of(key)}.svc"
