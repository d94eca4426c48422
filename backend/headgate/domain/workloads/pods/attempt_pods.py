"""The pods of a workload's present attempt: index, rank, run and node of each.

Pods take their nodes in the order of the topology assignment when the attempt begins. A pod that a
second pass places elsewhere has its next run; every other pod keeps index, rank and node, also
where pods before it have left. With completions above the pods that run at a time, the next index
takes the node of one that is over; ranks are completion indices then.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.workloads.admission import Admission, PodSetAssignment

Nodes = dict[int, str]
"""The nodes of the pods of one pod set by index; empty for a pod without a node of its own."""


class AttemptPod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod of an attempt; `rank` counts the pods of all pod sets as the attempt began."""

    pod_set: str
    index: int
    rank: int
    run: int
    node: str


class AttemptLayout(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pods of an attempt where their admission changed.

    `counts` are the pods of each set when the attempt began, `nodes` those of the pods that are
    left, `runs` the runs after the first. All three are empty while nothing changed.
    """

    counts: dict[str, int] = {}
    nodes: dict[str, Nodes] = {}
    runs: dict[str, dict[int, int]] = {}


FIRST_LAYOUT = AttemptLayout()


def assigned_nodes(given: PodSetAssignment) -> list[str]:
    """The node of each pod in rank order; empty where the flavor has no topology of hosts."""
    known = given.topology_assignment
    if known is None:
        return [""] * given.count
    is_of_hosts = bool(known.levels) and known.levels[-1] == HOSTNAME_LABEL
    return [
        domain.values[-1] if is_of_hosts else ""
        for domain in known.domains
        for _ in range(domain.count)
    ]


def pod_nodes(admission: Admission, layout: AttemptLayout) -> dict[str, Nodes]:
    """The nodes of all pods by pod set and index, in order."""
    return {given.name: _nodes_of(given, layout) for given in admission.pod_set_assignments}


def _nodes_of(given: PodSetAssignment, layout: AttemptLayout) -> Nodes:
    known = layout.nodes.get(given.name)
    return dict(enumerate(assigned_nodes(given))) if known is None else known


def attempt_pods(admission: Admission, layout: AttemptLayout) -> Iterator[AttemptPod]:
    """The pods that are left of an attempt, by rank."""
    first = 0
    for given in admission.pod_set_assignments:
        nodes = _nodes_of(given, layout)
        runs = layout.runs.get(given.name, {})
        for index, node in nodes.items():
            yield AttemptPod(
                pod_set=given.name,
                index=index,
                rank=first + index,
                run=runs.get(index, 1),
                node=node,
            )
        first += layout.counts.get(given.name, len(nodes))


def changed_layout(
    before: Admission,
    after: Admission,
    layout: AttemptLayout,
    removed: Mapping[str, Sequence[int]] | None = None,
) -> AttemptLayout:
    """The layout once the admission of the attempt changed; moved pods have their next run.

    `removed` are indices of pods that left; without it the last ones leave.
    """
    known = pod_nodes(before, layout)
    counts = layout.counts or {name: len(nodes) for name, nodes in known.items()}
    nodes, runs = dict(known), {name: dict(found) for name, found in layout.runs.items()}
    for given in after.pod_set_assignments:
        gone = frozenset((removed or {}).get(given.name, ()))
        stay = {i: node for i, node in known.get(given.name, {}).items() if i not in gone}
        nodes[given.name], moved = _placed(stay, assigned_nodes(given))
        for index in moved:
            own = runs.setdefault(given.name, {})
            own[index] = own.get(index, 1) + 1
    return AttemptLayout(counts=counts, nodes=nodes, runs=runs)


def next_run(
    admission: Admission, layout: AttemptLayout, pod_set: str, indices: Sequence[int]
) -> AttemptLayout:
    """The layout with the next run of these pods."""
    counts = layout.counts or {
        name: len(nodes) for name, nodes in pod_nodes(admission, layout).items()
    }
    runs = {name: dict(found) for name, found in layout.runs.items()}
    own = runs.setdefault(pod_set, {})
    own.update({index: own.get(index, 1) + 1 for index in indices})
    return AttemptLayout(counts=counts, nodes=layout.nodes, runs=runs)


def _placed(stay: Nodes, wanted: Sequence[str]) -> tuple[Nodes, list[int]]:
    """The nodes of pods after a change, and the pods that moved; surplus pods leave, last first."""
    free = Counter(wanted)
    kept = dict(list(stay.items())[: len(wanted)])
    moved: list[int] = []
    for index, node in kept.items():
        if free[node] > 0:
            free[node] -= 1
        else:
            moved.append(index)
    slots = iter([node for node in dict.fromkeys(wanted) for _ in range(free[node])])
    return {**kept, **{index: next(slots) for index in moved}}, moved
