"""Flavors that no work can reach: missing, without nodes, behind one just like them, or empty."""

from collections.abc import Iterator

from headgate.domain.kinds.resource_groups import ResourceGroup
from headgate.domain.lint.capacity import FlavorCapacity
from headgate.domain.lint.quotas import quota_lines
from headgate.domain.lint.warnings import LintWarning
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.quota.tree import root_cohort
from headgate.domain.values.pointers import child


def flavor_warnings(config: ObjectSet, capacity: FlavorCapacity) -> Iterator[LintWarning]:
    """What is odd about flavors, by themselves and in the groups that list them."""
    for name, flavor in sorted(config.resource_flavors.items()):
        if config.nodes and flavor.spec.node_labels and not capacity[name]:
            labels = ", ".join(f"{k}={v}" for k, v in sorted(flavor.spec.node_labels.items()))
            yield LintWarning(
                kind="ResourceFlavor",
                name=name,
                pointer="/spec/nodeLabels",
                rule="UnreachableFlavor",
                message=f"None of the {len(config.nodes)} nodes carries {labels}.",
                remedy="Correct the labels of the flavor or of its nodes.",
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
                message=f"ResourceFlavor {flavor.name} does not exist: the queue admits nothing.",
                remedy="Create the flavor, or remove it here.",
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
                message=f"Flavor {flavor.name} stands for the same nodes as {first} before it: "
                "their quotas count the same machines twice.",
                remedy="Give each flavor labels of its own, or put both quotas into one.",
            )


def _empty_quotas(config: ObjectSet) -> Iterator[LintWarning]:
    """Lines of nothing in queues that cannot borrow any either."""
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
            why = (
                "nobody in its cohort owns any" if line.cohort else "it has no cohort to borrow of"
            )
            why = "its borrowing limit is 0 too" if quota.borrowing_limit == 0 else why
            yield LintWarning(
                kind="ClusterQueue",
                name=line.name,
                pointer=line.pointer,
                rule="UnusableQuota",
                message=f"It owns 0 {quota.name} of {line.flavor}, and {why}: no work that asks "
                "for it can use this flavor.",
                remedy="Give it quota, let it borrow, or remove the flavor.",
            )
