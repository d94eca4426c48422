"""Which hosts of a flavor may take pods of a template, and why others may not (topology.md §1.3).

Only where the topology goes down to hosts; above that, machines are not looked at one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.domain.configured import Configured
from headgate.domain.scheduling.matching import matches_node, untolerated, written
from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec
from headgate.domain.values.selectors import NodeSelectorTerm
from headgate.domain.workloads.specs import Scheduling

MAX_CACHED_TEMPLATES = 64


@dataclass(frozen=True, slots=True)
class EligibleLeaves:
    """A mask over the flavor's places, and for each place the reason that excludes it, or empty.

    `most_pods` keeps what `figures` has made of it for a version of which hosts are open.
    """

    mask: Bools
    reasons: tuple[str, ...]
    most_pods: dict[int, Ints] = field(default_factory=dict)


def eligible_leaves(context: PlacementContext, pod: Scheduling) -> EligibleLeaves:
    """Which of the flavor's places may take such pods, whatever is free there.

    Kept per template in the topology; labels and taints change only with configuration, which
    builds the topology anew.
    """
    key = (pod.tolerations, tuple(sorted(pod.node_selector.items())), pod.affinity)
    known: EligibleLeaves | None = context.topology.eligible.get(key)
    if known is None:
        known = _looked_up(context, pod)
        _keep(context.topology.eligible, key, known)
    return known


def affinity_scores(context: PlacementContext, pod: Scheduling) -> Ints:
    """The sum of the weights of the preferred terms that each place meets."""
    wished = pod.preferred_affinity
    known: Ints | None = context.topology.eligible.get(wished)
    if known is None:

        def score(node: Configured[NodeSpec]) -> int:
            met = (wish for wish in wished if matches_node(node.labels, node.name, (wish.term,)))
            return sum(wish.weight for wish in met)

        terms = tuple(wish.term for wish in wished)
        found = _of_each_place(context, _keys(terms), score)
        known = np.array(found, dtype=np.int64)
        _keep(context.topology.eligible, wished, known)
    return known


def _keep(kept: dict[object, Any], key: object, found: object) -> None:
    """Keep an answer in place of the oldest, where there are many."""
    if len(kept) >= MAX_CACHED_TEMPLATES:
        del kept[next(iter(kept))]
    kept[key] = found


def _looked_up(context: PlacementContext, pod: Scheduling) -> EligibleLeaves:
    if not context.topology.goes_to_hosts:
        count = len(context.topology.paths)
        return EligibleLeaves(np.ones(count, dtype=np.bool_), ("",) * count)
    names = _keys(pod.affinity)
    names = None if names is None else (*sorted(pod.node_selector), *names)
    reasons = _of_each_place(context, names, lambda node: _refusal(node, context.flavor, pod))
    return EligibleLeaves(
        np.array([not reason for reason in reasons], dtype=np.bool_), tuple(reasons)
    )


def _of_each_place(
    context: PlacementContext,
    names: tuple[str, ...] | None,
    judge: Callable[[Configured[NodeSpec]], Any],
) -> list[Any]:
    """A judgement on the node of each place, made once for nodes with equal taints and labels.

    `names` are the labels that count; None if the name of the node itself does.
    """
    table, known, found = context.table, {}, []
    for row in context.topology.rows:
        node = table.nodes_at(table.leaf_ids[row])[0]
        like: object = node.name
        if names is not None:
            like = (node.spec.taints, *(node.labels.get(name) for name in names))
        if like not in known:
            known[like] = judge(node)
        found.append(known[like])
    return found


def _keys(terms: tuple[NodeSelectorTerm, ...]) -> tuple[str, ...] | None:
    """The labels that some terms ask for; None if they ask for the name of the node."""
    if any(term.match_fields for term in terms):
        return None
    return tuple(sorted({r.key for term in terms for r in term.match_expressions}))


def _refusal(node: Configured[NodeSpec], flavor: ResourceFlavorSpec, pod: Scheduling) -> str:
    taint = untolerated(node.spec.taints, (*pod.tolerations, *flavor.tolerations))
    if taint is not None:
        return f'taint "{written(taint)}"'
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return "nodeSelector"
    if not matches_node(node.labels, node.name, pod.affinity):
        return "affinity"
    return ""
