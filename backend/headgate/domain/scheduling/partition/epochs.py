"""Epochs: stretches of unchanged policies and quotas of one tree (preemption.md §6.9)."""

from hashlib import sha256

import msgspec

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.quota.tree import QuotaTree


def epoch_name(config: ObjectSet, tree: QuotaTree, root: str) -> str:
    """A name for the policies and quotas of one tree; another as soon as one of them changes."""
    parts: list[object] = [config.configuration.fair_sharing]
    for node in sorted(tree.path):
        if tree.root_of(node) != root:
            continue
        kind, _, name = node.partition("/")
        if kind == "clusterqueue":
            spec = config.cluster_queues[name].spec
            shares = (spec.fair_weight_milli, spec.preemption)
            parts.append((node, spec.cohort_name, spec.resource_groups, shares))
        elif name in config.cohorts:
            parts.append((node, config.cohorts[name].spec))
    return sha256(msgspec.json.encode(parts)).hexdigest()[:16]
