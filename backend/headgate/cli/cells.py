"""The columns of lists: by kind of object, or by paths that users write (kubectl: JSONPath)."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.units import age_of, amount, amounts
from headgate.client.schemas import domains_of
from headgate.domain.values.quantities import amount_of, is_gpu, resource_rank
from headgate.messages.rendering import resource_word

Object = dict[str, Any]
Cells = list[tuple[str, str]]
MAX_HOSTS_LISTED = 3
UNSCHEDULABLE = "Unschedulable"
ACTIVE = "Active"
WITHOUT_REASON = ("Running", "Succeeded")


def cells_of(found: Object, *, wide: bool) -> Cells:
    """Returns column names and texts of one object; all objects of a kind have equal columns."""
    metadata = found["metadata"]
    describe = _CELLS_OF_KIND.get(found.get("kind", ""))
    middle, extra = describe(found) if describe else ([], [])
    first = [("namespace", metadata["namespace"])] if metadata.get("namespace") else []
    last = [("age", age_of(metadata.get("creationTimestamp")))]
    widened = [*extra, ("labels", _labels(metadata.get("labels")))] if wide else []
    return [*first, ("name", metadata["name"]), *middle, *last, *widened]


def condition_status(found: Object, kind: str) -> str:
    """Returns the status of a condition: True, False or Unknown."""
    return str(condition_of(found, kind).get("status", "Unknown"))


def condition_of(found: Object, kind: str) -> Object:
    """Returns a condition of an object; empty where it has none of that type."""
    conditions: list[Object] = found.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == kind), {})


def _workload(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    admission = status.get("admission") or {}
    assignments = admission.get("podSetAssignments", [])
    pods = sum(pod_set.get("count", 1) for pod_set in spec.get("podSets", []))
    flavors = {flavor for each in assignments for flavor in each.get("flavors", {}).values()}
    middle = [
        ("queue", spec.get("queueName") or "-"),
        ("clusterqueue", admission.get("clusterQueue") or "-"),
        ("phase", status_word(status)),
        ("reason", _reason(status)),
        ("priority", str(status.get("priority", spec.get("priority", 0)))),
        ("gpu", str(_gpus(status, assignments) or "-")),
    ]
    return middle, [
        ("owner", status.get("owner", {}).get("user", "-")),
        ("pods", str(pods)),
        ("requeued", str(status.get("requeuedCount", 0))),
        ("flavors", ",".join(sorted(flavors)) or "-"),
        ("hosts", _hosts(assignments)),
    ]


def status_word(status: Object) -> str:
    """Returns the phase, or Unschedulable for a pending workload that can never start."""
    phase = str(status.get("phase", "-"))
    return UNSCHEDULABLE if phase == "Pending" and _never_starts(status) else phase


def _never_starts(status: Object) -> bool:
    return bool(status.get("explanation", {}).get("dominant") == UNSCHEDULABLE)


def _reason(status: Object) -> str:
    """Returns why a workload is pending, failed, or was cancelled; `-` while all is well."""
    if status.get("phase") in WITHOUT_REASON:
        return "-"
    told = str(status.get("explanation", {}).get("summary") or "-")
    # The phase of a held or retrying workload does not say that it can never start.
    said = status.get("phase") == "Pending" or not _never_starts(status)
    return told if said else f"{UNSCHEDULABLE}: {told}"


def _gpus(status: Object, assignments: list[Object]) -> int:
    usages = [each.get("resourceUsage", {}) for each in assignments]
    usages = usages or [each["resources"] for each in status.get("resourceRequests", [])]
    return sum(
        amount_of(name, str(value))
        for usage in usages
        for name, value in usage.items()
        if is_gpu(name)
    )


def _hosts(assignments: list[Object]) -> str:
    names = sorted(
        {
            values[-1]
            for each in assignments
            for values, _ in domains_of(each.get("topologyAssignment", {}))
        }
    )
    more = [f"+{len(names) - MAX_HOSTS_LISTED}"] if len(names) > MAX_HOSTS_LISTED else []
    return ",".join([*names[:MAX_HOSTS_LISTED], *more]) or "-"


def _cluster_queue(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    middle = [
        ("cohort", spec.get("cohortName") or "-"),
        ("pending", str(status.get("pendingWorkloads", 0))),
        ("admitted", str(status.get("admittedWorkloads", 0))),
        ("use", _use(spec, status)),
        ("active", condition_status(found, ACTIVE)),
    ]
    strategy = spec.get("queueingStrategy", "BestEffortFIFO")
    stop = ("stop", spec.get("stopPolicy", "None"))
    return middle, [("reason", _active_reason(found)), ("strategy", strategy), stop]


def _use(spec: Object, status: Object) -> str:
    """Returns used of nominal quota by resource, GPUs first: `6/8 GPU, 12/64 CPU`."""
    quotas = _sums(spec.get("resourceGroups", []), "nominalQuota")
    used = _sums([{"flavors": status.get("flavorsUsage", [])}], "total")
    shown = []
    for name in sorted(quotas, key=resource_rank):
        some, all_of_it = amounts(name, used.get(name, 0), quotas[name])
        shown.append(f"{some.partition(' ')[0]}/{all_of_it} {resource_word(name)}")
    return ", ".join(shown) or "-"


def _sums(groups: list[Object], field: str) -> dict[str, int]:
    """Returns the amounts in a field of all flavors, by resource."""
    sums: dict[str, int] = {}
    for group in groups:
        for flavor in group.get("flavors", []):
            for resource in flavor.get("resources", []):
                name = str(resource["name"])
                value = amount_of(name, str(resource.get(field, 0)))
                sums[name] = sums.get(name, 0) + value
    return sums


def _local_queue(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status", {})
    middle = [
        ("clusterqueue", spec["clusterQueue"]),
        ("pending", str(status.get("pendingWorkloads", 0))),
        ("admitted", str(status.get("admittedWorkloads", 0))),
    ]
    active = ("active", condition_status(found, ACTIVE))
    wide = [active, ("reason", _active_reason(found)), ("stop", spec.get("stopPolicy", "None"))]
    return middle, [*wide, ("consumed", _consumed(status))]


def _active_reason(found: Object) -> str:
    """Returns the reason of a queue's condition Active, as Kueue's column REASON does."""
    return str(condition_of(found, ACTIVE).get("reason") or "-")


def _consumed(status: Object) -> str:
    """Returns the decayed usage of a LocalQueue; `-` without usage-based fair sharing."""
    counted = status.get("fairSharing", {}).get("admissionFairSharingStatus")
    if counted is None:
        return "-"
    consumed = counted.get("consumedResources", {})
    return _labels({name: amount(name, amount_of(name, used)) for name, used in consumed.items()})


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
    ready = "Ready" if condition_status(found, "Ready") != "False" else "NotReady"
    cordoned = ",Cordoned" if found.get("spec", {}).get("unschedulable") else ""
    taints = ",".join(
        f"{taint['key']}:{taint.get('effect', 'NoSchedule')}"
        for taint in found.get("spec", {}).get("taints", [])
    )
    return [("status", ready + cordoned)], [
        ("allocatable", _labels(allocatable)),
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
    """Returns one kind of bound of all limits: `Container cpu=4`."""
    bounds = (f"{item['type']} {_labels(item[bound])}" for item in items if item.get(bound))
    return "; ".join(bounds) or "-"


def _runtime(found: Object) -> tuple[Cells, Cells]:
    overhead = (found.get("overhead") or {}).get("podFixed")
    nodes = (found.get("scheduling") or {}).get("nodeSelector")
    middle = [("handler", found.get("handler", "-")), ("overhead", _labels(overhead))]
    return middle, [("nodes", _labels(nodes))]


def _cron_job(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status") or {}
    last = status.get("lastScheduleTime", "-")
    middle = [("schedule", spec["schedule"]), ("suspend", str(spec.get("suspend", False)).lower())]
    zone = [("timezone", spec.get("timeZone", "UTC"))]
    return [*middle, ("lastschedule", last)], [*zone, ("refusal", status.get("refusal", "-"))]


def _training_runtime(found: Object) -> tuple[Cells, Cells]:
    spec = found["spec"]
    jobs = spec["template"]["spec"].get("replicatedJobs", ())
    nodes = str((spec.get("mlPolicy") or {}).get("numNodes", 1))
    return [("nodes", nodes), ("jobs", ",".join(job["name"] for job in jobs))], []


def _webhook(found: Object) -> tuple[Cells, Cells]:
    spec, status = found["spec"], found.get("status") or {}
    severity = ("severity", spec.get("minSeverity", "warning"))
    middle = [severity, ("last", status.get("lastDeliveryTime", "-"))]
    return middle, [("url", spec["url"]), ("failure", status.get("failure", "-"))]


def _acknowledgment(found: Object) -> tuple[Cells, Cells]:
    spec, by = found["spec"], (found.get("status") or {}).get("by") or "-"
    return [("cause", spec["cause"]), ("by", by)], [("reason", spec.get("reason") or "-")]


def _labels(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "-"


_CELLS_OF_KIND: dict[str, Callable[[Object], tuple[Cells, Cells]]] = {
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
    "CronJob": _cron_job,
    "TrainingRuntime": _training_runtime,
    "ClusterTrainingRuntime": _training_runtime,
    "Webhook": _webhook,
    "Acknowledgment": _acknowledgment,
}


NOT_THERE = "<none>"
_STEP = re.compile(
    r"\.(?P<field>(?:\\.|[^.\[\]\\])+)"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]"
    r"|\[\?\(@(?P<tested>[^=!]*)(?P<operator>==|!=)(?P<value>.*?)\)\]"
)
_EXPRESSION = re.compile(r"""\{((?:"[^"]*"|'[^']*'|[^{}"'])*+)\}""")
_UNCLOSED = re.compile(r"\{\s*(?:[.$@\[]|range\b)")


def values_at(found: object, path: str) -> list[Any]:
    """Returns the values at a path such as `.spec.podSets[*].count`, in order; none where absent.

    `[?(@.type=="Ready")]` keeps the items with that value. Raises `CommandFailed` for no path.
    """
    text = path.strip().removeprefix("{").removesuffix("}").strip().lstrip("$@")
    if text and not text.startswith((".", "[")):
        text = f".{text}"
    values: list[Any] = [found]
    place = 0
    while place < len(text.rstrip(".")):
        step = _STEP.match(text, place)
        if step is None:
            raise CommandFailed(f"invalid path {path!r} at {text[place:]!r}", code=ExitCode.USAGE)
        values = [each for value in values for each in _at_step(value, step)]
        place = step.end()
    return values


def _at_step(value: object, step: "re.Match[str]") -> Iterator[Any]:
    name = (step["field"] or step["key"] or "").replace("\\.", ".")
    items = list(value.values()) if isinstance(value, dict) else value
    if name and name != "*":
        if isinstance(value, dict) and name in value:
            yield value[name]
    elif not isinstance(items, list):
        return
    elif step["tested"] is not None:
        wanted, is_equal = step["value"].strip().strip("'\""), step["operator"] == "=="
        for item in items:
            told = [text_of_value(one) for one in values_at(item, step["tested"])]
            if (wanted in told) is is_equal:
                yield item
    elif name == "*" or step["index"] == "*":
        yield from items
    else:
        yield from items[int(step["index"]) :][:1]


def text_of_value(value: object) -> str:
    """Returns a value as kubectl writes it: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def from_template(found: object, template: str) -> str:
    """Returns a JSONPath template with its expressions in braces filled in, as kubectl does.

    `{range .items[*]}…{end}` repeats what is between for each value; texts in quotes are literal.
    """
    parts = _EXPRESSION.split(template)
    for text in parts[::2]:
        if unclosed := _UNCLOSED.search(text):
            raise CommandFailed(f"{text[unclosed.start() :]!r} is not closed", code=ExitCode.USAGE)
    return _filled(parts, found)


def _filled(parts: list[str], found: object) -> str:
    """Texts and expressions by turns, which `split` gives."""
    told = parts[0]
    place = 1
    while place < len(parts):
        expression = parts[place].strip()
        if expression.startswith("range "):
            end = _end_of_range(parts, place)
            body = parts[place + 1 : end]
            told += "".join(_filled(body, value) for value in values_at(found, expression[6:]))
            place = end
        elif expression[:1] in {"'", '"'}:
            told += str(ast.literal_eval(expression))
        else:
            told += " ".join(text_of_value(value) for value in values_at(found, expression))
        told += parts[place + 1]
        place += 2
    return told


def _end_of_range(parts: list[str], start: int) -> int:
    depth = 0
    for place in range(start, len(parts), 2):
        word = parts[place].strip()
        depth += word.startswith("range ") - (word == "end")
        if depth == 0:
            return place
    raise CommandFailed("{range} without {end}", code=ExitCode.USAGE)
