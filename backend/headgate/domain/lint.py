"""Lint: likely mistakes in allowed configurations, reported with their numbers.

Quotas: slipped units, unlimited borrowing, oversubscribed flavors. Objects that no workload can
use: missing, without nodes, shadowed, or empty.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from headgate.domain.kinds.queue_settings import ResourceGroup, ResourceQuota
from headgate.domain.kinds.resource_flavor import node_is_of_flavor
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import child
from headgate.domain.scheduling.queueing.queue_checks import pods_ready_rules
from headgate.domain.scheduling.quota.tree import root_cohort
from headgate.domain.values.message import Amount, Message, message
from headgate.domain.values.quantities import FlavorUsage, Requests, add_to, resource_rank

LintRule = Literal[
    "UnitSlip",
    "UnlimitedBorrowing",
    "UnreachableFlavor",
    "ShadowedFlavor",
    "UnusableQuota",
    "Oversubscribed",
    "QueueWithoutFlavors",
    "QueueWithoutLocalQueue",
    "QueueWithoutNamespaces",
    "StrictQueueByCreation",
    "GlobalDefaultRepeated",
    "MissingReference",
    "CohortCycle",
]


class LintWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A likely mistake in one object; the text of `message` has the numbers, its remedy the fix.

    `kind` is as in manifests; `pointer` leads into the object. A note is true of many good
    configurations; a warning hardly ever is meant.
    """

    kind: str
    namespace: str = ""
    name: str
    pointer: str
    rule: LintRule
    severity: Literal["warning", "note"] = "warning"
    message: Message


def lint(config: ObjectSet) -> tuple[LintWarning, ...]:
    """Returns all lint warnings in order of kind, name and field; warnings before notes."""
    capacity = capacity_of_flavors(config)
    found = (
        *queue_warnings(config),
        *quota_warnings(config, capacity),
        *flavor_warnings(config, capacity),
    )
    return tuple(
        sorted(
            found,
            key=lambda a: (a.severity != "warning", a.kind, a.namespace, a.name, a.pointer, a.rule),
        )
    )


FlavorCapacity: TypeAlias = Mapping[str, Requests]
"""The capacity of all nodes of a flavor; no entry for a flavor without nodes."""


def capacity_of_flavors(config: ObjectSet) -> FlavorCapacity:
    """Returns the capacity of every flavor in one pass over the nodes."""
    keys = sorted({key for f in config.resource_flavors.values() for key in f.spec.node_labels})
    alike: dict[tuple[str, ...], Requests] = {}
    for _, node in sorted(config.nodes.items()):
        offer = alike.setdefault(tuple(node.labels.get(key, "") for key in keys), {})
        add_to(offer, node.spec.allocatable)
    found: dict[str, Requests] = {}
    for name, flavor in sorted(config.resource_flavors.items()):
        found[name] = {}
        for values, offer in alike.items():
            if node_is_of_flavor(dict(zip(keys, values, strict=True)), flavor.spec):
                add_to(found[name], offer)
    return found


MAX_PLAUSIBLE_CPU_MILLI = 1_000_000
MIN_PLAUSIBLE_BYTES = 1 << 20
BYTES = ("memory", "ephemeral-storage", "storage")


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota of a ClusterQueue or Cohort, with its place in the object."""

    kind: str
    name: str
    cohort: str
    flavor: str
    pointer: str
    quota: ResourceQuota

    def unit_slip(self, found: Message, field: str) -> LintWarning:
        """Returns a likely slip of the unit in one of its amounts."""
        return LintWarning(
            kind=self.kind,
            name=self.name,
            pointer=f"{self.pointer}/{field}",
            rule="UnitSlip",
            message=found,
        )


def quota_warnings(config: ObjectSet, capacity: FlavorCapacity) -> Iterator[LintWarning]:
    """Returns the warnings about amounts of ClusterQueues and Cohorts."""
    lines = tuple(quota_lines(config))
    for line in lines:
        yield from _unit_slips(line, capacity.get(line.flavor, {}).get(line.quota.name, 0))
    yield from _unlimited_borrowing(config, lines)
    yield from _oversubscribed(lines, capacity)


def quota_lines(config: ObjectSet) -> Iterator[QuotaLine]:
    """Returns every quota of the configuration."""
    for name, queue in sorted(config.cluster_queues.items()):
        yield from _lines("ClusterQueue", name, queue.spec.cohort_name, queue.spec.resource_groups)
    for name, cohort in sorted(config.cohorts.items()):
        yield from _lines("Cohort", name, cohort.spec.parent_name, cohort.spec.resource_groups)


def _lines(
    kind: str, name: str, cohort: str, groups: tuple[ResourceGroup, ...]
) -> Iterator[QuotaLine]:
    for i, group in enumerate(groups):
        for j, flavor in enumerate(group.flavors):
            for k, quota in enumerate(flavor.resources):
                place = child("/spec/resourceGroups", i, "flavors", j, "resources", k)
                yield QuotaLine(kind, name, cohort, flavor.name, place, quota)


def _unit_slips(line: QuotaLine, capacity: int) -> Iterator[LintWarning]:
    resource = line.quota.name
    amounts = (
        ("nominalQuota", line.quota.nominal_quota),
        ("borrowingLimit", line.quota.borrowing_limit),
        ("lendingLimit", line.quota.lending_limit),
    )
    for field, amount in amounts:
        if not amount:
            continue
        if (
            resource in BYTES or resource.startswith("hugepages-")
        ) and amount < MIN_PLAUSIBLE_BYTES:
            slip = message("QuotaOfFewBytes", resource=resource, amount=amount)
            yield line.unit_slip(slip, field)
        elif resource == "cpu" and amount >= MAX_PLAUSIBLE_CPU_MILLI and capacity < amount:
            slip = message(
                "QuotaOfManyCores",
                cores=amount // 1000,
                flavor=line.flavor,
                have=Amount("cpu", capacity) if capacity else None,
                meant=Amount("cpu", amount // 1000),
            )
            yield line.unit_slip(slip, field)


def _unlimited_borrowing(config: ObjectSet, lines: tuple[QuotaLine, ...]) -> Iterator[LintWarning]:
    """Yields queues that may borrow all that the rest of their tree can lend."""
    offers: dict[str, FlavorUsage] = {}
    for line in lines:
        offer = offers.setdefault(_tree(config, line), {})
        key = (line.flavor, line.quota.name)
        offer[key] = offer.get(key, 0) + _lendable(line.quota)
    told: dict[str, QuotaLine] = {}
    others: dict[str, list[tuple[tuple[int, str], Message]]] = {}
    for line in lines:
        key = (line.flavor, line.quota.name)
        is_open = line.kind == "ClusterQueue" and line.cohort and line.quota.borrowing_limit is None
        most = offers[_tree(config, line)][key] - _lendable(line.quota)
        if is_open and most > 0:
            told.setdefault(line.name, line)
            loan = message(
                "AmountOfFlavor", amount=Amount(line.quota.name, most), flavor=line.flavor
            )
            others.setdefault(line.name, []).append((resource_rank(line.quota.name), loan))
    for name, line in told.items():
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer=line.pointer,
            rule="UnlimitedBorrowing",
            severity="note",
            message=message("UnlimitedBorrowing", amounts=_in_order(others[name])),
        )


def _in_order(loans: list[tuple[tuple[int, str], Message]]) -> tuple[Message, ...]:
    return tuple(loan for _, loan in sorted(loans, key=lambda each: each[0]))


def _oversubscribed(
    lines: tuple[QuotaLine, ...], capacity: FlavorCapacity
) -> Iterator[LintWarning]:
    """Yields flavors with more nominal quota than their nodes have."""
    offered = {resource for there in capacity.values() for resource in there}
    promised: FlavorUsage = {}
    for line in lines:
        key = (line.flavor, line.quota.name)
        promised[key] = promised.get(key, 0) + line.quota.nominal_quota
    for (flavor, resource), amount in sorted(promised.items()):
        there = capacity.get(flavor, {})
        if there and resource in offered and amount > there.get(resource, 0):
            yield LintWarning(
                kind="ResourceFlavor",
                name=flavor,
                pointer="",
                rule="Oversubscribed",
                message=message(
                    "Oversubscribed",
                    quota=Amount(resource, amount),
                    have=Amount(resource, there.get(resource, 0)),
                ),
            )


def _lendable(quota: ResourceQuota) -> int:
    return quota.nominal_quota if quota.lending_limit is None else quota.lending_limit


def _tree(config: ObjectSet, line: QuotaLine) -> str:
    if line.kind == "Cohort":
        return f"cohort/{root_cohort(config, line.name)}"
    if line.cohort:
        return f"cohort/{root_cohort(config, line.cohort)}"
    return f"clusterqueue/{line.name}"


def flavor_warnings(config: ObjectSet, capacity: FlavorCapacity) -> Iterator[LintWarning]:
    """Returns the warnings about flavors and the resource groups that list them."""
    for name, flavor in sorted(config.resource_flavors.items()):
        if config.nodes and flavor.spec.node_labels and not capacity[name]:
            labels = tuple(f"{k}={v}" for k, v in sorted(flavor.spec.node_labels.items()))
            yield LintWarning(
                kind="ResourceFlavor",
                name=name,
                pointer="/spec/nodeLabels",
                rule="UnreachableFlavor",
                message=message("UnreachableFlavor", nodes=len(config.nodes), labels=labels),
            )
    for name, queue in sorted(config.cluster_queues.items()):
        for index, group in enumerate(queue.spec.resource_groups):
            yield from _in_group(config, name, index, group)
    yield from _empty_quotas(config)


def _in_group(
    config: ObjectSet, queue: str, index: int, group: ResourceGroup
) -> Iterator[LintWarning]:
    seen: dict[object, str] = {}
    for place, flavor in enumerate(group.flavors):
        pointer = child("/spec/resourceGroups", index, "flavors", place)
        known = config.resource_flavors.get(flavor.name)
        if known is None:
            missing = message("MissingResourceFlavor", flavor=flavor.name)
            yield _of_queue(queue, pointer, "MissingReference", missing)
            continue
        spec = known.spec
        same = (tuple(sorted(spec.node_labels.items())), spec.node_taints, spec.topology_name)
        first = seen.setdefault(same, flavor.name)
        if first != flavor.name and spec.node_labels:
            shadowed = message("ShadowedFlavor", flavor=flavor.name, first=first)
            yield _of_queue(queue, pointer, "ShadowedFlavor", shadowed)


def _empty_quotas(config: ObjectSet) -> Iterator[LintWarning]:
    """Yields zero quotas of queues that cannot borrow either."""
    in_tree: dict[tuple[str, str, str], int] = {}
    lines = tuple(quota_lines(config))
    for line in lines:
        if line.cohort or line.kind == "Cohort":
            root = root_cohort(config, line.cohort or line.name)
            key = (root, line.flavor, line.quota.name)
            in_tree[key] = in_tree.get(key, 0) + line.quota.nominal_quota
    for line in lines:
        quota = line.quota
        if line.kind != "ClusterQueue" or quota.nominal_quota:
            continue
        root = root_cohort(config, line.cohort) if line.cohort else ""
        most = in_tree.get((root, line.flavor, quota.name), 0) if line.cohort else 0
        if most == 0 or quota.borrowing_limit == 0:
            code = "QuotaWithoutLenders" if line.cohort else "QuotaWithoutCohort"
            code = "QuotaWithBorrowingLimit0" if quota.borrowing_limit == 0 else code
            yield LintWarning(
                kind="ClusterQueue",
                name=line.name,
                pointer=line.pointer,
                rule="UnusableQuota",
                message=Message(code, {"resource": quota.name, "flavor": line.flavor}),
            )


def queue_warnings(config: ObjectSet) -> Iterator[LintWarning]:
    """Returns the warnings about ClusterQueues, LocalQueues and Cohorts except amounts."""
    local_queues = {local.spec.cluster_queue for local in config.local_queues.values()}
    for name, queue in sorted(config.cluster_queues.items()):
        yield from _of_cluster_queue(config, name, has_local_queue=name in local_queues)
        if queue.spec.namespace_selector is None:
            unusable = message("QueueWithoutNamespaces")
            pointer = "/spec/namespaceSelector"
            yield _of_queue(name, pointer, "QueueWithoutNamespaces", unusable)
    for local in config.local_queues.values():
        if local.spec.cluster_queue not in config.cluster_queues:
            yield LintWarning(
                kind="LocalQueue",
                namespace=local.namespace,
                name=local.name,
                pointer="/spec/clusterQueue",
                rule="MissingReference",
                message=message("MissingClusterQueue", queue=local.spec.cluster_queue),
            )
    yield from _cohort_cycles(config)
    yield from _global_defaults(config)


def _of_cluster_queue(
    config: ObjectSet, name: str, *, has_local_queue: bool
) -> Iterator[LintWarning]:
    spec = config.cluster_queues[name].spec
    if not spec.resource_groups:
        empty = message("QueueWithoutFlavors")
        yield _of_queue(name, "/spec/resourceGroups", "QueueWithoutFlavors", empty)
    if not has_local_queue:
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer="",
            rule="QueueWithoutLocalQueue",
            severity="note",
            message=message("QueueWithoutLocalQueue"),
        )
    yield from _strict_queue_by_creation(config, name)
    for index, rule in enumerate(spec.admission_checks):
        if rule.name not in config.admission_checks:
            pointer = child("/spec/admissionChecksStrategy/admissionChecks", index)
            missing = message("MissingAdmissionCheck", check=rule.name)
            yield _of_queue(name, pointer, "MissingReference", missing)


def _strict_queue_by_creation(config: ObjectSet, name: str) -> Iterator[LintWarning]:
    """Yields a StrictFIFO queue that requeues by creation (KEP-1282, Drawbacks)."""
    waits = pods_ready_rules(config, name)
    is_strict = config.cluster_queues[name].spec.queueing_strategy == "StrictFIFO"
    if is_strict and waits is not None and waits.requeuing_strategy.timestamp == "Creation":
        warning = message("StrictQueueByCreation")
        yield _of_queue(name, "/spec/queueingStrategy", "StrictQueueByCreation", warning)


def _of_queue(name: str, pointer: str, rule: LintRule, warning: Message) -> LintWarning:
    return LintWarning(kind="ClusterQueue", name=name, pointer=pointer, rule=rule, message=warning)


def _cohort_cycles(config: ObjectSet) -> Iterator[LintWarning]:
    for name in sorted(config.cohorts):
        path = [name]
        above = config.cohorts[name].spec.parent_name
        while above and above in config.cohorts and above not in path:
            path.append(above)
            above = config.cohorts[above].spec.parent_name
        if above == name:
            yield LintWarning(
                kind="Cohort",
                name=name,
                pointer="/spec/parentName",
                rule="CohortCycle",
                message=message("CohortsFormCycle", path=" → ".join((*path, name))),
            )


def _global_defaults(config: ObjectSet) -> Iterator[LintWarning]:
    """Yields the priority classes that are the global default beside another (KEP-5710)."""
    classes = config.workload_priority_classes
    defaults = sorted((c.spec.value, name) for name, c in classes.items() if c.spec.global_default)
    for _, name in defaults if len(defaults) > 1 else ():
        yield LintWarning(
            kind="WorkloadPriorityClass",
            name=name,
            pointer="/globalDefault",
            rule="GlobalDefaultRepeated",
            message=message("GlobalDefaultRepeated", counts=defaults[0][1], classes=len(defaults)),
        )
