"""What Headgate deliberately decides otherwise than Kueue, as predicates on a case.

Each rule is one of `differences.toml`, with the trap it comes from and the reason. A rule sees
what a case gives and wants, never its name. Where a case shows a difference by its outcome alone,
the rule reads it as Kueue does: it applies if the case then agrees and as it stands does not.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headgate.adapters.manifests.topology_requests import SLICE_LEVEL, SLICE_SIZE
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.values.quantities import amount_of
from tests.conformance.cases import PLACEMENTS, Case, Fields
from tests.conformance.families.family import Family
from tests.conformance.families.job_pod_sets import SLICE_NAME
from tests.conformance.families.placements import MAIN
from tests.conformance.families.validation import ALWAYS_CHECKED, RIGID, pointer_of
from tests.conformance.instants import seconds_of
from tests.conformance.statuses import decoded

Given = dict[str, Any]
Predicate = Callable[[Case, Family], bool]
JOB = "kueue.x-k8s.io/job-uid"
REPORTED = ("/status/reclaimablePods", "/status/admissionChecks")
"""The parts of a status that are reported here, and judged."""


def status_of_its_own(case: Case, _: Family) -> bool:
    """The case wants a status refused that cannot be written here."""
    errors = case.want.get("wantErr")
    pointers = [pointer_of(error["$error"]) for error in errors or ()]
    return bool(pointers) and all(
        pointer.startswith("/status/") and not pointer.startswith(REPORTED) for pointer in pointers
    )


def uneven_slices(case: Case, _: Family) -> bool:
    """The case wants fewer pods of a new pod set placed than it has."""
    if case.inputs.peek("unhealthy"):
        return False
    placed = _wanted_domains(case)
    return any(
        sum(count for _, count in placed[name]) < pod_set.get("count", 0)
        for pod_set in _listed(case, "podSets")
        if placed.get(name := pod_set.get("name") or pod_set.get("podSetName") or MAIN)
    )


def nameless_host(case: Case, family: Family) -> bool:
    """Without the nodes that lack a label of the topology the case agrees."""
    levels = _listed(case, "levels")
    labelled = [
        node
        for node in _listed(case, "nodes")
        if set(levels) <= set((node.get("metadata") or node).get("labels") or {})
    ]
    if levels[-1:] != [HOSTNAME_LABEL] or len(labelled) == len(_listed(case, "nodes")):
        return False
    return _agrees_only_as(family, case, _with_inputs(case, nodes=labelled))


def never_startable(case: Case, _: Family) -> bool:
    """A pending workload asks for more than its own limits."""
    pending = [
        w for w in _listed(case, "workloads") if not (w.get("status") or {}).get("admission")
    ]
    return any(_exceeds_limits(container) for w in pending for container in _containers(w))


def orphan(case: Case, _: Family) -> bool:
    """The case wants a workload finished because its owner is gone."""
    wanted = case.want.get("wantWorkload") or {}
    return any(
        condition.get("reason") == "OwnerNotFound"
        for condition in (wanted.get("status") or {}).get("conditions") or ()
    )


def queue_gone(case: Case, _: Family) -> bool:
    """The ClusterQueue of a LocalQueue through which workloads hold quota is gone."""
    wanted = (case.want.get("wantLocalQueue") or {}).get("status") or {}
    is_gone = bool(case.inputs.peek("deleteClusterQueue"))
    return is_gone and bool(_listed(case, "runningWls")) and not wanted.get("reservingWorkloads")


def far_from_the_others(case: Case, family: Family) -> bool:
    """With no level preferred for the replaced pods the case agrees."""
    if not case.inputs.peek("unhealthy"):
        return False
    pod_sets = [_without_preference(pod_set) for pod_set in _listed(case, "podSets")]
    changed = pod_sets != _listed(case, "podSets")
    return changed and _agrees_only_as(family, case, _with_inputs(case, podSets=pod_sets))


def bare_pod(case: Case, _: Family) -> bool:
    """A workload is to keep the host that it lost."""
    workload = case.inputs.peek("workload") or {}
    lost = {found["name"] for found in (workload.get("status") or {}).get("unhealthyNodes") or ()}
    kept = {values[-1] for domains in _wanted_domains(case).values() for values, _ in domains}
    return bool(lost & kept)


def check_lost(case: Case, _: Family) -> bool:
    """A check of an admitted workload waits anew, and the admission is to go, not evicted."""
    before = _conditions(case.inputs.peek("conditions"))
    after = _conditions(case.want.get("wantConditions"))
    waits = any(check.get("state") == "Pending" for check in _listed(case, "checkStates"))
    was = before.get("QuotaReserved") == "True" and before.get("Admitted") == "True"
    return waits and was and after.get("Admitted") == "False"


def leader_asked_like_its_workers(case: Case, family: Family) -> bool:
    """If leaders may go where their workers may the case agrees."""
    pod_sets = _listed(case, "podSets")
    names = ("group", "podSetGroupName")
    groups: dict[str, list[Given]] = {}
    for pod_set in pod_sets:
        group = next((pod_set[name] for name in names if pod_set.get(name)), "")
        groups.setdefault(group, []).append(pod_set)
    groups.pop("", None)
    workers = {
        group: max(members, key=lambda each: int(each.get("count", 0)))
        for group, members in groups.items()
    }
    alike = [
        _like(pod_set, workers[group])
        if (group := next((pod_set[n] for n in names if pod_set.get(n)), "")) in workers
        else pod_set
        for pod_set in pod_sets
    ]
    return alike != pod_sets and _agrees_only_as(family, case, _with_inputs(case, podSets=alike))


def host_too_small(case: Case, _: Family) -> bool:
    """A workload stands on a host that has less of a resource than its pods there use."""
    sizes = {
        (node["metadata"].get("labels") or {}).get(HOSTNAME_LABEL): (node.get("status") or {}).get(
            "allocatable"
        )
        or {}
        for node in _listed(case, "nodes")
    }
    return any(
        used > amount_of(resource, str(sizes[host][resource]))
        for host, resource, used in _standing(case)
        if resource in sizes.get(host, {})
    )


def host_gone_unnoticed(case: Case, _: Family) -> bool:
    """A workload stands on a host that is no node any more, which its status does not say."""
    labels = [node["metadata"].get("labels") or {} for node in _listed(case, "nodes")]
    hosts = {each.get(HOSTNAME_LABEL) for each in labels}
    said = {
        found["name"]
        for workload in _listed(case, "workloads")
        for found in (workload.get("status") or {}).get("unhealthyNodes") or ()
    }
    return any(host not in hosts | said for host, _, _ in _standing(case))


def flavors_left(case: Case, _: Family) -> bool:
    """Nothing fitted, and flavors were left that had not been tried."""
    last = case.inputs.peek("lastAssignment") or {}
    tried = [i for pod_set in last.get("lastTriedFlavorIdx") or () for i in pod_set.values()]
    return any(index >= 0 for index in tried)


def gate_closed(case: Case, _: Family) -> bool:
    """An entry of a cycle waits for its preemption gate."""
    entry = case.inputs.peek("e") or {}
    return bool(entry.get("status") == "preemptionGated")


def second_pass_delayed(case: Case, _: Family) -> bool:
    """The second pass is asked for before the second that Kueue lets go by."""
    return bool(_listed(case, "workloads")) and seconds_of(case.inputs.peek("passTime")) < 1


def several_hosts_lost(case: Case, _: Family) -> bool:
    """A workload is to be evicted for the second of its hosts that failed."""
    wanted = case.want.get("wantEvictedCond") or {}
    return bool(wanted.get("reason") == "NodeFailures")


def claimed_devices(case: Case, _: Family) -> bool:
    """Devices that pods claim are to count as a resource, or to be looked up."""
    claims = _listed(case, "resourceClaims") or _listed(case, "resourceClaimTemplates")
    return bool(claims) and bool(case.want.get("wantDRAResourceTotal"))


TABLE = "TestFindTopologyAssignments"
CYCLES = (
    *("TestSchedule", "TestScheduleForTAS", "TestScheduleForTASCohorts"),
    *("TestScheduleForTASPreemption", "TestScheduleForFairSharing", "TestScheduleForAFS"),
    *("TestScheduleRecomputePreemptionTargets", "TestLastSchedulingContext"),
)


def always_checked(case: Case, _: Family) -> bool:
    """A gate leaves out a check of submissions that is always made here."""
    return any(gate in ALWAYS_CHECKED for gate in case.gates)


def counts_may_change(case: Case, _: Family) -> bool:
    """A gate forbids other counts of pods than those with quota, where only counts differ."""
    before, after = (
        (case.inputs.peek(age) or {}).get("spec", {}).get("podSets") or []
        for age in ("before", "after")
    )
    counts = [[pod_set.get("count") for pod_set in pod_sets] for pod_sets in (before, after)]
    return RIGID in case.gates and counts[0] != counts[1]


def refused_as_job(case: Case, _: Family) -> bool:
    """The pods state a slice size without a level, which Kueue's webhook of Jobs refuses."""
    template = (case.inputs.peek("job") or {}).get("spec", {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return SLICE_SIZE in annotations and SLICE_LEVEL not in annotations


def slice_named_in_pods(case: Case, _: Family) -> bool:
    """The pods of a started job are to have another name of their workload slice."""
    infos = _listed(case, "runInfo")
    return any(SLICE_NAME in (info.get("annotations") or {}) for info in infos)


RULES: Mapping[str, tuple[tuple[str, ...], Predicate]] = {
    "status-of-its-own": (
        ("TestValidateWorkload", "TestValidateWorkloadUpdate"),
        status_of_its_own,
    ),
    "uneven-slices": ((PLACEMENTS, TABLE), uneven_slices),
    "nameless-host": ((TABLE,), nameless_host),
    "never-startable": (CYCLES, never_startable),
    "orphan": (("TestReconcile",), orphan),
    "queue-gone": (("TestLocalQueueReconcile",), queue_gone),
    "far-from-the-others": ((PLACEMENTS,), far_from_the_others),
    "bare-pod": ((TABLE,), bare_pod),
    "check-lost": (("TestSyncAdmittedCondition",), check_lost),
    "leader-asked-like-its-workers": ((PLACEMENTS, TABLE), leader_asked_like_its_workers),
    "host-too-small": (CYCLES, host_too_small),
    "host-gone-unnoticed": (CYCLES, host_gone_unnoticed),
    "flavors-left": (("TestBestEffortFIFORequeueIfNotPresent",), flavors_left),
    "gate-closed": (("TestRequeueAndUpdate",), gate_closed),
    "second-pass-delayed": (("TestQueueSecondPassIfNeeded",), second_pass_delayed),
    "several-hosts-lost": (("TestNodeFailureReconciler",), several_hosts_lost),
    "claimed-devices": (("TestReconcile",), claimed_devices),
    "always-checked": (("TestValidateWorkload", "TestValidateWorkloadUpdate"), always_checked),
    "counts-may-change": (("TestValidateWorkloadUpdate",), counts_may_change),
    "refused-as-job": (("TestPodSets",), refused_as_job),
    "slice-named-in-pods": (("TestPodSetsInfo",), slice_named_in_pods),
}
"""By their names in `differences.toml`: the tests with cases that they are about, and the rule."""


def matching(case: Case, family: Family) -> list[str]:
    """The rules that apply to a case."""
    test = case.test.rpartition(":")[2]
    return [
        name for name, (tests, applies) in RULES.items() if test in tests and applies(case, family)
    ]


def _agrees_only_as(family: Family, case: Case, other: Case) -> bool:
    """Whether a case agrees if it is read in another way, and not as it stands."""
    return not tuple(family.drive(other)) and bool(tuple(family.drive(case)))


def _with_inputs(case: Case, **changed: Any) -> Case:
    return replace(case, inputs=Fields({**case.inputs, **changed}))


def _listed(case: Case, name: str) -> list[Any]:
    found = case.inputs.peek(name) or []
    return list(found.values()) if isinstance(found, dict) else list(found)


def _wanted_domains(case: Case) -> dict[str, list[tuple[tuple[str, ...], int]]]:
    """Where the case wants the pods of each pod set, in a line or in the table."""
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for name, wanted in (case.want.get("wantPodSets") or {}).items():
        if wanted.get("wantAssignment"):
            found[name or MAIN] = decoded(wanted["wantAssignment"])
    for name, wanted in case.want.items():
        if isinstance(wanted, dict) and wanted.get("domains"):
            found[name] = [(tuple(values), count) for values, count in wanted["domains"]]
    return found


def _without_preference(pod_set: Given) -> Given:
    request = {k: v for k, v in (pod_set.get("tr") or {}).items() if k != "preferred"}
    return {**pod_set, "tr": request} if request != (pod_set.get("tr") or {}) else pod_set


def _like(leader: Given, worker: Given) -> Given:
    filters = ("selector", "tol", "nodeSelector", "tolerations", "nodeAffinity")
    own = {name: value for name, value in leader.items() if name not in filters}
    return {**own, **{name: worker[name] for name in filters if name in worker}}


def _conditions(listed: list[Given] | None) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in listed or ()}


def _containers(workload: Given) -> Iterator[Given]:
    for pod_set in workload["spec"].get("podSets") or ():
        pod = (pod_set.get("template") or {}).get("spec") or {}
        yield from (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))


def _exceeds_limits(container: Given) -> bool:
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    return any(
        amount_of(name, str(amount)) > amount_of(name, str(limits[name]))
        for name, amount in (resources.get("requests") or {}).items()
        if name in limits
    )


def _standing(case: Case) -> Iterator[tuple[str, str, int]]:
    """Every host that a workload with quota stands on, with what its pods there use."""
    for workload in _listed(case, "workloads"):
        admission = (workload.get("status") or {}).get("admission") or {}
        for given in admission.get("podSetAssignments") or ():
            topology = given.get("topologyAssignment") or {}
            if HOSTNAME_LABEL not in topology.get("levels", ())[-1:]:
                continue
            domains = decoded(topology)
            pods = sum(count for _, count in domains) or 1
            for values, count in domains:
                for resource, amount in (given.get("resourceUsage") or {}).items():
                    yield values[-1], resource, amount_of(resource, str(amount)) * count // pods
