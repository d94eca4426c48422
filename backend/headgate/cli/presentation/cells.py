"""What a list shows of each kind of object, one function for one kind."""

from collections.abc import Callable
from typing import Any

from headgate.cli.presentation.units import age_of
from headgate.domain.values.instants import Instant

Object = dict[str, Any]
Cells = list[tuple[str, str]]


def cells_of(found: Object, now: Instant, *, wide: bool) -> Cells:
    """Column names and texts for one object; the same columns for every object of a kind."""
    metadata = found["metadata"]
    special = _SPECIAL.get(found.get("kind", ""), _nothing_more)
    middle, extra = special(found)
    first = [("namespace", metadata["namespace"])] if metadata.get("namespace") else []
    last = [("age", age_of(metadata.get("creationTimestamp"), now))]
    widened = [*extra, ("labels", _labels(metadata.get("labels")))] if wide else []
    return [*first, ("name", metadata["name"]), *middle, *last, *widened]


def condition_status(found: Object, kind: str) -> str:
    """True, False or Unknown."""
    for condition in found.get("status", {}).get("conditions", []):
        if condition["type"] == kind:
            return str(condition["status"])
    return "Unknown"


def _workload(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    admission = status.get("admission") or {}
    pods = sum(pod_set.get("count", 1) for pod_set in spec.get("podSets", []))
    middle = [
        ("queue", spec.get("queueName") or "-"),
        ("clusterqueue", admission.get("clusterQueue") or "-"),
        ("phase", status.get("phase", "-")),
        ("priority", str(status.get("priority", spec.get("priority", 0)))),
    ]
    requeued = str(
        status.get("requeuedCount") or (status.get("requeueState") or {}).get("count", 0)
    )
    return middle, [("pods", str(pods)), ("requeued", requeued), ("places", _places(admission))]


def _places(admission: Object) -> str:
    flavors = {
        flavor
        for assigned in admission.get("podSetAssignments", [])
        for flavor in assigned.get("flavors", {}).values()
    }
    return ",".join(sorted(flavors)) or "-"


def _cluster_queue(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    middle = [
        ("cohort", spec.get("cohortName") or "-"),
        ("pending", str(status.get("pendingWorkloads", 0))),
        ("admitted", str(status.get("admittedWorkloads", 0))),
        ("active", condition_status(found, "Active")),
    ]
    strategy = spec.get("queueingStrategy", "BestEffortFIFO")
    return middle, [("strategy", strategy), ("stop", spec.get("stopPolicy", "None"))]


def _local_queue(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    middle = [
        ("clusterqueue", spec["clusterQueue"]),
        ("pending", str(status.get("pendingWorkloads", 0))),
        ("admitted", str(status.get("admittedWorkloads", 0))),
    ]
    active = condition_status(found, "Active")
    wide = [("active", active), ("stop", spec.get("stopPolicy", "None"))]
    return middle, [*wide, ("consumed", _consumed(status))]


def _consumed(status: Object) -> str:
    """What the queue used of late, where that orders it; `-` while nothing is counted."""
    counted = status.get("fairSharing", {}).get("admissionFairSharingStatus")
    if counted is None:
        return "-"
    listed = sorted(counted.get("consumedResources", {}).items())
    return ",".join(f"{name}={amount}" for name, amount in listed) or "nothing"


def _cohort(found: Object) -> tuple[Cells, Cells]:
    return [("parent", found.get("spec", {}).get("parentName") or "-")], []


def _flavor(found: Object) -> tuple[Cells, Cells]:
    spec = found.get("spec", {})
    nodes = [("nodelabels", _labels(spec.get("nodeLabels")))]
    return [("topology", spec.get("topologyName") or "-")], nodes


def _topology(found: Object) -> tuple[Cells, Cells]:
    return [("levels", ",".join(level["nodeLabel"] for level in found["spec"]["levels"]))], []


def _node(found: Object) -> tuple[Cells, Cells]:
    allocatable = found.get("status", {}).get("allocatable", {})
    offered = ",".join(f"{name}={value}" for name, value in sorted(allocatable.items()))
    ready = "Ready" if condition_status(found, "Ready") != "False" else "NotReady"
    cordoned = ",Cordoned" if found.get("spec", {}).get("unschedulable") else ""
    taints = ",".join(
        f"{taint['key']}:{taint.get('effect', 'NoSchedule')}"
        for taint in found.get("spec", {}).get("taints", [])
    )
    return [("status", ready + cordoned)], [
        ("allocatable", offered or "-"),
        ("taints", taints or "-"),
    ]


def _priority_class(found: Object) -> tuple[Cells, Cells]:
    middle = [("value", str(found["value"])), ("default", str(bool(found.get("globalDefault"))))]
    return middle, [("description", found.get("description") or "-")]


def _check(found: Object) -> tuple[Cells, Cells]:
    controller = found["spec"].get("controllerName", "-")
    return [("controller", controller), ("active", condition_status(found, "Active"))], []


def _budget(found: Object) -> tuple[Cells, Cells]:
    spec = found["spec"]
    bounds = [
        ("minavailable", str(spec.get("minAvailable", "-"))),
        ("maxunavailable", str(spec.get("maxUnavailable", "-"))),
    ]
    enforcement = [("enforcement", spec.get("enforcement", "BestEffort"))]
    return [("unit", spec.get("unit", "Workload")), *bounds], enforcement


def _configuration(found: Object) -> tuple[Cells, Cells]:
    spec = found["spec"]
    middle = [
        ("fairsharing", "on" if "fairSharing" in spec else "off"),
        ("waitforpodsready", (spec.get("waitForPodsReady") or {}).get("timeout", "off")),
        ("quotarelease", spec.get("quotaRelease", "OnStopped")),
    ]
    return middle, [("undeclared", spec.get("resources", {}).get("quotaCheckStrategy", "-"))]


def _limits(found: Object) -> tuple[Cells, Cells]:
    items = found["spec"].get("limits", [])
    middle = [(bound, _bounds(items, bound)) for bound in ("min", "max")]
    return middle, [("default", _bounds(items, "defaultRequest"))]


def _bounds(items: list[Object], bound: str) -> str:
    """One kind of bound of all that are bounded: `Container cpu=4`."""
    told = (f"{item['type']} {_labels(item[bound])}" for item in items if item.get(bound))
    return "; ".join(told) or "-"


def _runtime(found: Object) -> tuple[Cells, Cells]:
    overhead = (found.get("overhead") or {}).get("podFixed")
    nodes = (found.get("scheduling") or {}).get("nodeSelector")
    middle = [("handler", found.get("handler", "-")), ("overhead", _labels(overhead))]
    return middle, [("nodes", _labels(nodes))]


def _nothing_more(_found: Object) -> tuple[Cells, Cells]:
    return [], []


def _labels(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "-"


_SPECIAL: dict[str, Callable[[Object], tuple[Cells, Cells]]] = {
    "Workload": _workload,
    "ClusterQueue": _cluster_queue,
    "LocalQueue": _local_queue,
    "Cohort": _cohort,
    "ResourceFlavor": _flavor,
    "Topology": _topology,
    "Node": _node,
    "WorkloadPriorityClass": _priority_class,
    "AdmissionCheck": _check,
    "DisruptionBudget": _budget,
    "Configuration": _configuration,
    "LimitRange": _limits,
    "RuntimeClass": _runtime,
}
