"""Which objects and changes are refused, and for which fields (`pkg/webhooks`)."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from headgate.adapters.manifests.parse import Refused, as_written
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import stream_of
from headgate.domain.rejection import Rejection, lies_within
from headgate.domain.workloads.commands import ChangeSpec, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.pods.templates import with_known_templates
from headgate.domain.workloads.priority import with_priority_boost
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Drive, Family
from tests.conformance.families.reports import broken_by_reports, named_checks, with_reservation
from tests.conformance.installed import Installed, parsed
from tests.conformance.instants import NOW

Errors = list[dict[str, str]] | dict[str, str] | None
"""A list of errors of fields, or one error of whatever kind."""

POLICY = "concurrentAdmissionPolicy"
BOOSTS = "PriorityBoost=true"
RIGID = "ElasticJobsViaWorkloadSlices=false"
ALWAYS_CHECKED = (
    "WorkloadValidationForPodSetMetadata=false",
    "WorkloadValidateResourcesAreNonNegative=false",
)
"""Checks of a submission that Kueue can leave out and Headgate always makes."""

_FIELD = re.compile(r"^([A-Za-z][^:]*?): ")
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def created(kind: str, field: str) -> Drive:
    """A new object of that kind, in that input."""

    def drive(case: Case) -> Iterator[str]:
        value = _as_schemas_have_it(kind, case.inputs[field])
        yield from judged(case.want["wantErr"], problem_of_creation(kind, value))

    return drive


def _as_schemas_have_it(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """A group of flavors with some resource, without which Kueue's schema refuses it.

    The webhooks are asked after the schema, so that fixtures may leave it out; Headgate has one
    validation for both.
    """
    groups = value["spec"].get("resourceGroups")
    if kind not in {"ClusterQueue", "Cohort"} or not groups:
        return value
    completed = [_with_a_resource(index, group) for index, group in enumerate(groups)]
    return {**value, "spec": {**value["spec"], "resourceGroups": completed}}


def _with_a_resource(index: int, group: dict[str, Any]) -> dict[str, Any]:
    flavors = group.get("flavors") or []
    if group.get("coveredResources") or any(flavor.get("resources") for flavor in flavors):
        return group
    name = f"example.com/resource-{index}"
    quotas = [{"name": name, "nominalQuota": "0"}]
    return {
        **group,
        "coveredResources": [name],
        "flavors": [{**flavor, "resources": quotas} for flavor in flavors],
    }


def changed_cluster_queue(case: Case) -> Iterator[str]:
    """Another spec for a ClusterQueue."""
    installed = Installed()
    old, new = (
        _as_schemas_have_it("ClusterQueue", case.inputs[f"{age}ClusterQueue"])
        for age in ("old", "new")
    )
    installed.add("ClusterQueue", old)
    desired = parsed("ClusterQueue", new)
    if isinstance(desired, Refused):
        yield from judged(case.want["wantErr"], desired.problem)
        return
    state = installed.cluster_state.state_of(stream_of("clusterqueue", desired.name))
    command: Change[Any] = Change(spec=desired.spec, keeps=desired.keeps)
    try:
        KINDS_BY_STREAM["clusterqueue"].decide(state, command, NOW)
    except Rejection as problem:
        yield from judged(case.want["wantErr"], as_written(problem, desired))
    else:
        yield from judged(case.want["wantErr"], None)


def created_workload(case: Case) -> Iterator[str]:
    """A new workload, and what its status says that would be reported later."""
    value = case.inputs["workload"]
    problem = problem_of_creation("Workload", value, boosts_count=BOOSTS in case.gates)
    if problem is not None:
        yield from judged(case.want["wantErr"], problem)
        return
    installed = Installed()
    installed.add("Workload", _silenced(with_reservation(value)))
    (workload,) = installed.cluster_state.workloads.values()
    found = list(broken_by_reports(workload, value.get("status") or {}))
    yield from judged_pointers(case.want["wantErr"], found)


def _silenced(value: dict[str, Any]) -> dict[str, Any]:
    """The workload before any check has spoken."""
    status = value.get("status") or {}
    checks = [{"name": check["name"], "state": "Pending"} for check in named_checks(status)]
    return {**value, "status": {**status, "admissionChecks": checks}} if checks else value


def changed_workload(case: Case) -> Iterator[str]:
    """Another spec for a workload at some stage of its life, or another report of it."""
    installed = Installed()
    installed.add("Workload", with_reservation(case.inputs["before"]))
    desired = parsed("Workload", case.inputs["after"])
    if isinstance(desired, Refused):
        yield from judged(case.want["wantErr"], desired.problem)
        return
    state = installed.cluster_state.state_of(stream_of("workload", desired.name, desired.namespace))
    command = ChangeSpec(
        labels=desired.labels,
        annotations=desired.annotations,
        spec=with_known_templates(desired.spec, state.spec),
        eviction="e",
    )
    try:
        events = WORKLOAD.decide(state, command, NOW)
    except Rejection as problem:
        yield from judged(case.want["wantErr"], as_written(problem, desired))
        return
    for event in events:
        state = WORKLOAD.evolve(state, event, NOW)
    found = list(broken_by_reports(state, case.inputs["after"].get("status") or {}))
    yield from judged_pointers(case.want["wantErr"], found)


def sizes(groups: str) -> Drive:
    """A ClusterQueue of so many flavors and resources, in one group or in many."""

    def drive(case: Case) -> Iterator[str]:
        value = _cluster_queue(groups, case.inputs)
        problem = problem_of_creation("ClusterQueue", value)
        yield from differences("refused", bool(case.want["wantErr"]), problem is not None)

    return drive


def problem_of_creation(
    kind: str, value: dict[str, Any], *, boosts_count: bool = False
) -> Rejection | None:
    """What the product says to a new object; None where it takes it."""
    desired = parsed(kind, value)
    if isinstance(desired, Refused):
        return desired.problem
    asked: dict[str, Any] = {
        "uid": "uid",
        "name": desired.name,
        "namespace": desired.namespace,
        "labels": desired.labels,
        "annotations": desired.annotations,
        "spec": desired.spec,
    }
    try:
        if kind == "Workload":
            asked["spec"] = with_priority_boost(
                desired.spec, desired.annotations, {}, is_allowed=boosts_count
            )
            WORKLOAD.decide(Absent(), Submit(**asked), NOW)
        else:
            KINDS_BY_STREAM[kind.lower()].decide(Absent(), Create(**asked), NOW)
    except Rejection as problem:
        return as_written(problem, desired)
    return None


def judged(errors: Errors, problem: Rejection | None) -> Iterator[str]:
    """Every field that is to be refused is, and no other."""
    yield from differences("refused", bool(errors), problem is not None)
    yield from _fields(errors, [v.pointer for v in problem.violations] if problem else [])


def judged_pointers(errors: Errors, found: list[str]) -> Iterator[str]:
    """The same for reports of which some may be refused."""
    yield from differences("refused", bool(errors), bool(found))
    yield from _fields(errors, found)


def _fields(errors: Errors, found: list[str]) -> Iterator[str]:
    texts = [error["$error"] for error in ([errors] if isinstance(errors, dict) else errors or ())]
    if not all(_FIELD.match(text) for text in texts):
        return  # An error that names no field says only that the object is refused.
    wanted = [pointer_of(text) for text in texts]
    for pointer in _unmatched(wanted, found):
        yield f"{pointer} is to be refused, and is not"
    for pointer in _unmatched(found, wanted):
        yield f"{pointer} is refused, and is not to be"


def _unmatched(pointers: Iterable[str], others: list[str]) -> list[str]:
    return [pointer for pointer in pointers if not any(_agree(pointer, o) for o in others)]


def _agree(one: str, other: str) -> bool:
    """Whether two pointers lead to the same place, one of them perhaps less deep.

    Kueue's steps write fields of a pod set, say, from the pod set on, or from the spec.
    """
    first, second = one.removeprefix("/spec"), other.removeprefix("/spec")
    return lies_within(first, second) or lies_within(second, first)


def pointer_of(error: str) -> str:
    """Where the text of an error of Kueue's points, as a JSON pointer."""
    found = _FIELD.match(error)
    path = found.group(1) if found else ""
    steps = [inner or plain for inner, plain in _STEP.findall(path)]
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


def _cluster_queue(groups: str, inputs: dict[str, Any]) -> dict[str, Any]:
    flavors = inputs.get("numFlavors") or 1
    resources = inputs.get("numResources") or inputs.get("numCoveredRes") or 1
    spec = {"namespaceSelector": {}, "resourceGroups": _groups(groups, flavors, resources)}
    return {"metadata": {"name": "cluster-queue"}, "spec": spec}


def _groups(groups: str, flavors: int, resources: int) -> list[dict[str, Any]]:
    """Groups of at most 64 flavors and 64 resources each; `one` puts all flavors in one group."""
    if groups == "one":
        return [_group(range(flavors), range(resources))]
    if flavors > 1:
        starts = range(0, flavors, 64)
        return [
            _group(range(s, min(s + 64, flavors)), range(i, i + 1)) for i, s in enumerate(starts)
        ]
    starts = range(0, resources, 64)
    return [_group(range(i, i + 1), range(s, min(s + 64, resources))) for i, s in enumerate(starts)]


def _group(flavors: range, resources: range) -> dict[str, Any]:
    names = [f"example.com/r{number}" for number in resources]
    quotas = [{"name": name, "nominalQuota": "1"} for name in names]
    return {
        "coveredResources": names,
        "flavors": [{"name": f"f{number}", "resources": quotas} for number in flavors],
    }


def _policy_is_absent(case: Case, gate: str) -> bool:
    queue = case.inputs["clusterQueue"]["spec"]
    return gate == "ConcurrentAdmission=true" and POLICY not in queue


def _workload_gates(case: Case, gate: str) -> bool:
    """Whether boosts count; the other gates leave out what is always so here."""
    return gate in {BOOSTS, RIGID, *ALWAYS_CHECKED}


WARNINGS = {"want.wantWarnings": "a warning refuses nothing"}
FAMILIES = {
    "TestValidateClusterQueue": Family(
        created("ClusterQueue", "clusterQueue"),
        _policy_is_absent,
        {
            "want.wantBadValue": "the error names the field, and has the value",
            "want.wantDetail": "the wording",
        },
    ),
    "TestValidateCohort": Family(created("Cohort", "cohort")),
    "TestValidateResourceFlavor": Family(created("ResourceFlavor", "rf")),
    "TestValidateWorkload": Family(created_workload, _workload_gates, unread=WARNINGS),
    "TestValidateClusterQueueUpdate": Family(changed_cluster_queue),
    "TestValidateWorkloadUpdate": Family(changed_workload, _workload_gates, unread=WARNINGS),
    "TestValidateFlavorResourceCombinations": Family(sizes("one")),
    "TestValidateTotalCoveredResources": Family(sizes("many")),
    "TestValidateTotalFlavors": Family(sizes("many")),
}
