"""Lint of objects that no workload can use: missing, without nodes, shadowed, or empty."""

from collections.abc import Iterator

from headgate.domain.kinds.resource_groups import ResourceGroup
from headgate.domain.lint.quotas import FlavorCapacity, quota_lines
from headgate.domain.lint.warnings import LintWarning
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.quota.tree import root_cohort
from headgate.domain.values.message import Message, message
from headgate.domain.values.pointers import child


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
            yield LintWarning(
                kind="ClusterQueue",
                name=queue,
                pointer=pointer,
                rule="MissingReference",
                message=message("MissingResourceFlavor", flavor=flavor.name),
            )
            continue
        spec = known.spec
        same = (tuple(sorted(spec.node_labels.items())), spec.node_taints, spec.topology_name)
        first = seen.setdefault(same, flavor.name)
        if first != flavor.name and spec.node_labels:
            yield LintWarning(
                kind="ClusterQueue",
                name=queue,
                pointer=pointer,
                rule="ShadowedFlavor",
                message=message("ShadowedFlavor", flavor=flavor.name, first=first),
            )


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
            yield LintWarning(
                kind="ClusterQueue",
                name=name,
                pointer="/spec/namespaceSelector",
                rule="QueueWithoutNamespaces",
                message=message("QueueWithoutNamespaces"),
            )
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


def _of_cluster_queue(
    config: ObjectSet, name: str, *, has_local_queue: bool
) -> Iterator[LintWarning]:
    spec = config.cluster_queues[name].spec
    if not spec.resource_groups:
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer="/spec/resourceGroups",
            rule="QueueWithoutFlavors",
            message=message("QueueWithoutFlavors"),
        )
    if not has_local_queue:
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer="",
            rule="QueueWithoutLocalQueue",
            severity="note",
            message=message("QueueWithoutLocalQueue"),
        )
    for index, rule in enumerate(spec.admission_checks):
        if rule.name not in config.admission_checks:
            yield LintWarning(
                kind="ClusterQueue",
                name=name,
                pointer=child("/spec/admissionChecksStrategy/admissionChecks", index),
                rule="MissingReference",
                message=message("MissingAdmissionCheck", check=rule.name),
            )


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
