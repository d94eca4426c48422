"""Quota trees, activity and usage of queues (`pkg/cache/scheduler`)."""

from collections.abc import Generator, Iterator
from typing import Any

from headgate.application.queries.queue_status import status_of
from headgate.application.queries.queue_tree import lines_of
from headgate.domain.kinds.cluster_queue import ClusterQueueDeletionRequested
from headgate.domain.kinds.queue_activity import Activity, cluster_queue_activity, cohort_cycle
from headgate.domain.object_set import referrers_of
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.dominant_resource_share import dominant_resource_share
from headgate.domain.scheduling.quota.usage import (
    add_usage,
    available,
    empty_usage,
    potential_available,
)
from headgate.domain.values.quantities import FlavorUsage, amount_of
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Drive, Family
from tests.conformance.families.host_usage import differing_usage, hold_hosts
from tests.conformance.installed import NAMESPACE, Installed, key_of

PROBE = "probe"


def available_amounts(case: Case) -> Iterator[str]:
    """What each ClusterQueue can still use, and could use if all else were idle."""
    installed = _installed(case)
    for name, wanted in (case.want["wantPotentiallyAvailable"] or {}).items():
        partition = installed.partition_of(name)
        node = f"clusterqueue/{name}"
        most = {key: potential_available(partition.tree, node, key) for key in _keys(wanted)}
        yield from differences(f"potential.{name}", amounts_of(wanted), most)
    used: dict[str, Any] = {}
    for name, wanted in (case.want["wantAvailable"] or {}).items():
        partition = installed.partition_of(name)
        usage = used.setdefault(partition.key, _usage(partition, case.mapped("usage")))
        node = f"clusterqueue/{name}"
        left = {key: available(partition.tree, usage, node, key) for key in _keys(wanted)}
        yield from differences(f"available.{name}", amounts_of(wanted), left)


def shares(case: Case) -> Iterator[str]:
    """The dominant resource share of every node, with a request on top for the first one."""
    installed = _installed(case)
    partition = installed.partition_of("cq")
    usage = _usage(partition, {"cq": case.mapped("usage")})
    extra = amounts_of(case.mapped("flvResQ"))
    for wanted in case.want["want"] or ():
        is_cohort = bool(wanted.get("nodeType")) == bool(case.shared.get("nodeTypeCohort", True))
        node = f"{'cohort' if is_cohort else 'clusterqueue'}/{wanted['name']}"
        on_top = extra if node == "clusterqueue/cq" else {}
        found = dominant_resource_share(partition.tree, usage, node, on_top)
        expected = (
            bool(wanted.get("borrowing")),
            wanted.get("drName", ""),
            wanted.get("drValue", 0),
        )
        got = (found.ratio > 0, found.dominant, found.weighted_share)
        yield from differences(node, expected, got)


def readiness(case: Case) -> Iterator[str]:
    """Whether a ClusterQueue is active, and why not."""
    installed = _installed(case)
    name = case.text("clusterQueueName")
    if case.given("terminate"):
        installed.record(f"clusterqueue/{name}", ClusterQueueDeletionRequested())
    found = yield from _activity(installed, name, case)
    yield from differences("active", case.want["wantStatus"] == "True", found.active)
    yield from differences("active", case.want["wantActive"], found.active)
    terminating = found.reason == "Terminating"
    yield from differences("terminating", case.want["wantTerminating"], terminating)


def readiness_with_topology(case: Case) -> Iterator[str]:
    """The same after the ClusterQueue was changed."""
    installed = _installed(case)
    if case.given("updatedCq"):
        installed.change_cluster_queue(case.inputs["updatedCq"])
    found = yield from _activity(installed, case.inputs["cq"]["metadata"]["name"], case)
    if case.want["wantStatus"]:
        yield from differences("active", case.want["wantStatus"] == "active", found.active)


def readiness_with_checks(case: Case) -> Iterator[str]:
    """Whether a ClusterQueue is active, by the state of its admission checks."""
    installed = Installed()
    for name, check in case.mapped("admissionChecks").items():
        active = "True" if check.get("active") else "False"
        value = {
            "metadata": {"name": name},
            "spec": {"controllerName": check.get("controller", "")},
            "status": {"conditions": [{"type": "Active", "status": active}]},
        }
        installed.add("AdmissionCheck", value)
    yield from _status(installed, case, case.inputs["cq"])


def readiness_with_flavors(case: Case) -> Iterator[str]:
    """Whether a ClusterQueue is active, by the flavors there are."""
    installed = Installed()
    installed.add("ResourceFlavor", *case.listed("flavors"))
    yield from _status(installed, case, case.shared["cq"])


def usage_of_cluster_queue(case: Case) -> Iterator[str]:
    """What the workloads of a ClusterQueue hold, reserved and admitted, and how many there are."""
    installed = _installed(case)
    name = case.inputs["clusterQueue"]["metadata"]["name"]
    found = status_of(installed.cluster_state, name)
    yield from differences("reserving", case.want["wantReservingWorkloads"], found.reserving)
    yield from differences("admitted", case.want["wantAdmittedWorkloads"], found.admitted)
    reserved, used = case.want["wantReservedResources"], case.want["wantUsedResources"]
    yield from differences("reserved", _listed(reserved, "total"), _held(found.reservation))
    yield from differences("used", _listed(used, "total"), _held(found.usage))
    borrowed = _beyond_its_own(installed, name)
    if "cohortName" in case.inputs["clusterQueue"]["spec"]:
        yield from differences("borrowed", _listed(reserved, "borrowed"), _held(borrowed))


def usage_of_local_queue(case: Case) -> Iterator[str]:
    """What the workloads of a LocalQueue hold."""
    installed = _installed(case)
    installed.add("LocalQueue", case.shared["localQueue"])
    local = case.shared["localQueue"]
    key = f"{local['metadata'].get('namespace') or NAMESPACE}/{local['metadata']['name']}"
    found = status_of(installed.cluster_state, local["spec"].get("clusterQueue", ""), key)
    wanted = _listed(case.want["wantUsage"], "total")
    yield from differences("usage", wanted, _held(found.reservation))
    beside = set(case.listed("inAdmissibleWl"))
    holders = {w.name for w in installed.cluster_state.workloads.values() if w.admission}
    yield from differences("without quota", [], sorted(beside & holders))


def ancestors_of_cohort(case: Case) -> Iterator[str]:
    """The cohorts from one up to the root."""
    yield from _ancestors(_installed(case), case, case.text("cohortName"))


def ancestors_of_cluster_queue(case: Case) -> Iterator[str]:
    """The cohorts above a ClusterQueue, below the root."""
    installed = _installed(case)
    cohort = case.inputs["cq"]["spec"].get("cohortName", "")
    yield from _ancestors(installed, case, cohort, with_root=False)


def ancestors_of_workload(case: Case) -> Iterator[str]:
    """The cohorts above the ClusterQueue that a workload has quota in."""
    installed = _installed(case)
    admission = (case.inputs["wl"].get("status") or {}).get("admission") or {}
    queue = installed.cluster_state.config.cluster_queues.get(admission.get("clusterQueue", ""))
    yield from _ancestors(installed, case, queue.spec.cohort_name if queue else "")


def borrowing(case: Case) -> Iterator[str]:
    """Whether a ClusterQueue borrows, in all and in some flavors."""
    beyond = _beyond_its_own(_installed(case), "cq")
    borrows = {key for key, amount in beyond.items() if amount > 0}
    yield from differences("borrowing", case.want["wantBorrowing"], bool(borrows))
    requested = set(_keys(case.mapped("requestedFRs")))
    wanted = case.want["wantBorrowingOnRequested"]
    yield from differences("onRequested", wanted, bool(borrows & requested))


def users_of_check(case: Case) -> Iterator[str]:
    """The ClusterQueues that use an admission check."""
    found = referrers_of(
        _installed(case).cluster_state.config, {}, "admissioncheck", case.text("check")
    )
    yield from _users(case, found)


def users_of_flavor(case: Case) -> Iterator[str]:
    """The ClusterQueues that use the flavor `x86`."""
    name = case.shared["x86Rf"]["metadata"]["name"]
    yield from _users(
        case, referrers_of(_installed(case).cluster_state.config, {}, "resourceflavor", name)
    )


def snapshot(case: Case) -> Iterator[str]:
    """Quota and usage at every node of the trees, and which ClusterQueues are inactive."""
    installed = _installed(case)
    hold_hosts(installed, case)
    yield from differing_usage(installed, case)
    wanted = case.want["wantSnapshot"] or {}
    cluster_state = installed.cluster_state
    inactive = {
        name
        for key in cluster_state.partition_keys()
        for name, failure in cluster_state.partition(key).queue_failures.items()
        if failure is not None
    }
    yield from differences(
        "inactive", sorted(wanted.get("inactiveClusterQueueSets") or []), sorted(inactive)
    )
    yield from _differing_nodes(installed, wanted)


def _differing_nodes(installed: Installed, wanted: dict[str, Any]) -> Iterator[str]:
    for name, node in (wanted.get("clusterQueues") or {}).items():
        partition = installed.partition_of(name)
        yield from _node(partition, f"clusterqueue/{name}", node.get("resourceNode") or {})
        path = partition.tree.path[f"clusterqueue/{name}"]
        for step in path[1:]:
            cohort = (wanted.get("cohorts") or {}).get(step.removeprefix("cohort/")) or {}
            yield from _node(partition, step, cohort.get("resourceNode") or {})


def queues_of_resources(case: Case) -> Iterator[str]:
    """The ClusterQueues that have quota for at least one of some resources."""
    installed = _installed(case)
    asked = set(case.listed("resourceNames"))
    found = sorted(
        name
        for key in installed.cluster_state.partition_keys()
        for name, offers in installed.cluster_state.partition(key).offers.items()
        if asked & offers.covered
    )
    yield from differences("queues", sorted(case.want["wantCQNames"] or ()), found)


def is_added(case: Case) -> Iterator[str]:
    """Whether a workload holds quota in the ClusterQueue that it names."""
    installed = Installed()
    for name, queue in case.mapped("clusterQueues").items():
        spec: dict[str, Any] = {"namespaceSelector": {}}
        installed.add("ClusterQueue", {"metadata": {"name": name.lower()}, "spec": spec})
        for info in (queue.get("workloads") or {}).values():
            installed.add("Workload", _holding(info["obj"], name.lower()))
    asked = case.mapped("workload")
    metadata = asked["obj"]["metadata"]
    key = key_of(f"{metadata.get('namespace', '')}/{metadata['name']}")
    queue = asked.get("clusterQueue", "").lower()
    known = queue in installed.cluster_state.config.cluster_queues
    charged = known and key in installed.partition_of(queue).charges.holding.get(queue, {})
    yield from differences("added", case.want["expected"], charged)


def _holding(value: dict[str, Any], queue: str) -> dict[str, Any]:
    """A workload of one pod that requests nothing, with a quota reservation."""
    assigned = [{"name": "main", "count": 1}]
    return {
        **value,
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {}}]},
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": assigned},
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
        },
    }


def snapshot_after_changes(*queues: dict[str, Any]) -> Drive:
    """Quota and usage at every node after workloads with quota went and came again.

    `queues` are the ClusterQueues that the body of the test makes for all its cases (Kueue's
    `pkg/cache/scheduler/snapshot_test.go`); the recording keeps only what stands in the table.
    """

    def drive(case: Case) -> Iterator[str]:
        installed = _installed(case)
        names = sorted({flavor for queue in queues for flavor in _flavors_of(queue)})
        installed.add("ResourceFlavor", *({"metadata": {"name": name}} for name in names))
        installed.add("ClusterQueue", *queues)
        infos = {key_of(key): info["obj"] for key, info in case.shared["wlInfos"].items()}
        installed.add("Workload", *infos.values())
        for key in case.listed("remove"):
            installed.delete_workload(key_of(key))
        installed.add("Workload", *(infos[key_of(key)] for key in case.listed("add")))
        yield from _differing_nodes(installed, case.want["want"] or {})

    return drive


def _flavors_of(queue: dict[str, Any]) -> Iterator[str]:
    for group in queue["spec"]["resourceGroups"]:
        yield from (flavor["name"] for flavor in group["flavors"])


def _queue(name: str, cohort: str, *groups: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A ClusterQueue with groups of flavors, each with the quota of one resource."""
    made = [
        {
            "coveredResources": [next(iter(flavors.values()))["name"]],
            "flavors": [{"name": flavor, "resources": [q]} for flavor, q in flavors.items()],
        }
        for flavors in groups
    ]
    spec = {"namespaceSelector": {}, "cohortName": cohort, "resourceGroups": made}
    return {"metadata": {"name": name}, "spec": spec}


SIX_CORES = {"default": {"name": "cpu", "nominalQuota": "6"}}
SIX_GIBIBYTES = {"name": "memory", "nominalQuota": "6Gi"}
TEN_CORES = {"name": "cpu", "nominalQuota": "10"}
FLAT = snapshot_after_changes(
    _queue("c1", "cohort", SIX_CORES, {"alpha": SIX_GIBIBYTES, "beta": SIX_GIBIBYTES}),
    _queue("c2", "cohort", SIX_CORES),
)
LENDING = snapshot_after_changes(
    _queue("lend-a", "lend", {"default": {**TEN_CORES, "lendingLimit": "4"}}),
    _queue("lend-b", "lend", {"default": {**TEN_CORES, "lendingLimit": "6"}}),
)


def _node(partition: Partition, node: str, wanted: dict[str, Any]) -> Iterator[str]:
    subtree = partition.tree.subtree_quota[node]
    yield from differences(f"{node}.quota", amounts_of(wanted.get("subtreeQuota") or {}), subtree)
    usage = {key: amount for key, amount in amounts_of(wanted.get("usage") or {}).items() if amount}
    yield from differences(f"{node}.usage", usage, partition.usage[ACTUAL][node])


def _installed(case: Case) -> Installed:
    """Everything a case of this family may have, under all the names it has for it."""
    installed = Installed()
    installed.add_setup([made for made in case.setup() if made["kind"] != "Workload"])
    for kind, names in (
        ("ResourceFlavor", ("resourceFlavors", "rfs", "x86Rf", "aarch64Rf", "defaultRf")),
        ("AdmissionCheck", ("admissionChecks", "checks")),
        ("Cohort", ("cohorts",)),
        ("ClusterQueue", ("clusterQueues", "clusterQueue", "lendingClusterQueue", "cqs", "cq")),
        ("Topology", ("topologies",)),
        ("Node", ("nodes",)),
        ("Workload", ("workloads", "wls", "wl")),
    ):
        for name in names:
            found = case.inputs.get(name, case.shared.get(name))
            installed.add(kind, *(found if isinstance(found, list) else [found]))
    installed.add_setup([made for made in case.setup() if made["kind"] == "Workload"])
    return installed


def _beyond_its_own(installed: Installed, cluster_queue: str) -> FlavorUsage:
    """What Kueue calls borrowed: all beyond its own quota, even where no queue lends now."""
    lines = lines_of(installed.cluster_state, f"clusterqueue/{cluster_queue}")
    return {(line.flavor, line.resource): line.borrowed + line.overcommitted for line in lines}


def _usage(partition: Partition, usage: dict[str, Any]) -> dict[str, FlavorUsage]:
    used = empty_usage(partition.tree)
    for name, amounts in usage.items():
        if f"clusterqueue/{name}" in partition.tree.path:
            add_usage(partition.tree, used, f"clusterqueue/{name}", amounts_of(amounts))
    return used


def _activity(installed: Installed, name: str, case: Case) -> Generator[str, None, Activity]:
    """The condition of a ClusterQueue; yields where its reason or message is another."""
    found = cluster_queue_activity(installed.cluster_state.config, name)
    yield from differences("reason", case.want["wantReason"], found.reason)
    if case.want.get("wantMessage"):
        yield from differences("message", case.want["wantMessage"], found.message)
    return found


def _status(installed: Installed, case: Case, queue: dict[str, Any]) -> Iterator[str]:
    installed.add("ClusterQueue", queue)
    name = queue["metadata"]["name"]
    terminating = "terminating"
    if terminating in {case.given("cqStatus"), case.given("curStatus")}:
        installed.record(f"clusterqueue/{name}", ClusterQueueDeletionRequested())
    found = cluster_queue_activity(installed.cluster_state.config, name)
    status = "active" if found.active else "pending"
    status = terminating if found.reason == "Terminating" else status
    yield from differences("status", case.want["wantStatus"], status)
    if case.want.get("wantReason"):
        yield from differences("reason", case.want["wantReason"], found.reason)
    if case.want.get("wantMessage"):
        yield from differences("message", case.want["wantMessage"], found.message)


def _ancestors(
    installed: Installed, case: Case, cohort: str, *, with_root: bool = True
) -> Iterator[str]:
    config = installed.cluster_state.config
    circle = bool(cohort and cohort_cycle(config, cohort))
    yield from differences("cycle", case.want.get("wantErr") is not None, circle)
    if circle:
        return
    wanted = case.want["wantAncestors"] or []
    if not cohort:
        yield from differences("ancestors", wanted, [])
        return
    installed.add("ClusterQueue", {"metadata": {"name": PROBE}, "spec": {"cohortName": cohort}})
    path = installed.partition_of(PROBE).tree.path[f"clusterqueue/{PROBE}"]
    found = [step.removeprefix("cohort/") for step in path[1:]]
    found = found if with_root else found[:-1]
    yield from differences("ancestors", wanted, found if cohort in config.cohorts else [])


def _users(case: Case, found: tuple[str, ...]) -> Iterator[str]:
    wanted = sorted(case.want["wantInUseClusterQueueNames"] or [])
    yield from differences("users", wanted, sorted(n.removeprefix("clusterqueue/") for n in found))


def _keys(amounts: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    return [(flavor, resource) for flavor, found in amounts.items() for resource in found]


def amounts_of(amounts: dict[str, dict[str, int]]) -> FlavorUsage:
    """Amounts by flavor and resource, from the nested form of cases."""
    return {(flavor, resource): amounts[flavor][resource] for flavor, resource in _keys(amounts)}


def _listed(flavors: list[dict[str, Any]] | None, field: str) -> FlavorUsage:
    found = {
        (flavor["name"], line["name"]): amount_of(line["name"], str(line.get(field, "0")))
        for flavor in flavors or ()
        for line in flavor.get("resources") or ()
    }
    return _held(found)


def _held(amounts: FlavorUsage) -> FlavorUsage:
    return {key: amount for key, amount in amounts.items() if amount}


FAMILIES = {
    "TestAvailable": Family(available_amounts),
    "TestDominantResourceShare": Family(
        shares,
        unread={
            "shared.nodeTypeCq": "what is no cohort",
        },
    ),
    "TestClusterQueueReadiness": Family(readiness),
    "TestClusterQueueReadinessWithTAS": Family(
        readiness_with_topology,
        unread={"inputs.skipTopology": "the setup has the topology where there is one"},
    ),
    "TestClusterQueueUpdateWithAdmissionCheck": Family(readiness_with_checks),
    "TestClusterQueueUpdateWithFlavors": Family(readiness_with_flavors),
    "TestClusterQueueUsage": Family(usage_of_cluster_queue),
    "TestLocalQueueUsage": Family(usage_of_local_queue),
    "TestAncestors": Family(ancestors_of_cohort),
    "TestClusterQueueAncestors": Family(ancestors_of_cluster_queue),
    "TestWorkloadAncestors": Family(ancestors_of_workload),
    "TestIsBorrowingOn": Family(
        borrowing, unread={"inputs.usage": "held by the workloads of the setup"}
    ),
    "TestClusterQueuesUsingAdmissionChecks": Family(users_of_check),
    "TestClusterQueuesUsingFlavor": Family(users_of_flavor),
    "TestSnapshot": Family(snapshot),
    "TestClusterQueuesForResources": Family(
        queues_of_resources, unread={"checked.wantCQs": "the names that are wanted, as a set"}
    ),
    "TestIsAddedCheckWorkload": Family(is_added),
    "TestSnapshotAddRemoveWorkload": Family(FLAT),
    "TestSnapshotAddRemoveWorkloadWithLendingLimit": Family(LENDING),
}
