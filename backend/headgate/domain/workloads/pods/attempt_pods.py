"""The pods of a workload's present attempt: index, rank, run, node, and how far each of them is.

Pods take their nodes in the order of the topology assignment when the attempt begins. A pod that a
second pass places elsewhere has its next run; every other pod keeps index, rank and node, also
where pods before it have left. With completions above the pods that run at a time, the next index
takes the node of one that is over; ranks are completion indices then. Progress is what executors
report, kept as ranges of indices.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.values.index_ranges import IndexRanges, contains, count_of, joined, without
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyDomain,
    without_domains,
)
from headgate.domain.workloads.pod_events import ReportedPods
from headgate.domain.workloads.specs import PodSet

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


def domain_of_each_pod(
    given: PodSetAssignment, layout: AttemptLayout
) -> dict[int, tuple[str, ...]]:
    """The topology domain of each pod by index; empty without a topology assignment.

    The layout tells the host of a pod; where domains are no hosts, pods are in them by rank.
    """
    known = given.topology_assignment
    if known is None:
        return {}
    by_node = {domain.values[-1]: domain.values for domain in known.domains}
    by_rank = (domain.values for domain in known.domains for _ in range(domain.count))
    pods = zip(_nodes_of(given, layout).items(), by_rank, strict=False)
    return {index: by_node.get(node, values) for (index, node), values in pods}


def domains_of_pods(
    given: PodSetAssignment, layout: AttemptLayout, indices: Iterable[int]
) -> tuple[TopologyDomain, ...]:
    """The topology domains of some pods of a pod set, in the order of its assignment."""
    places = domain_of_each_pod(given, layout)
    counts = Counter(places[index] for index in indices if index in places)
    known = given.topology_assignment
    return tuple(
        TopologyDomain(domain.values, counts[domain.values])
        for domain in (known.domains if known is not None else ())
        if counts[domain.values]
    )


def scaled_down_admission(
    admission: Admission, layout: AttemptLayout, pod_sets: Iterable[PodSet]
) -> Admission:
    """The admission with hosts for no more pods than the pod sets have; the last ranks leave.

    Counts and usage stay as admitted: what is needed of them follows from the pod sets. Returns the
    same object if no pod leaves.
    """
    counts = {pod_set.name: pod_set.count for pod_set in pod_sets}
    given = tuple(
        _without_last_ranks(each, layout, counts.get(each.name, each.count))
        for each in admission.pod_set_assignments
    )
    is_same = given == admission.pod_set_assignments
    return admission if is_same else replace(admission, pod_set_assignments=given)


def _without_last_ranks(
    given: PodSetAssignment, layout: AttemptLayout, count: int
) -> PodSetAssignment:
    known, indices = given.topology_assignment, list(domain_of_each_pod(given, layout))
    if known is None or len(indices) <= count:
        return given
    gone = domains_of_pods(given, layout, indices[count:])
    return replace(given, topology_assignment=without_domains(known, gone))


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


def grown_layout(before: Admission, after: Admission, layout: AttemptLayout) -> AttemptLayout:
    """The layout once pods that left have come back, each under its index and with its next run."""
    nodes = pod_nodes(before, layout)
    runs = {name: dict(found) for name, found in layout.runs.items()}
    for given in after.pod_set_assignments:
        known, wanted = nodes.get(given.name, {}), assigned_nodes(given)
        free = Counter(wanted)
        free.subtract(known.values())
        slots = [node for node in dict.fromkeys(wanted) for _ in range(free[node])]
        begun = range(layout.counts.get(given.name, len(known)))
        back = dict(zip((i for i in begun if i not in known), slots, strict=False))
        nodes[given.name] = dict(sorted({**known, **back}.items()))
        own = runs.setdefault(given.name, {})
        own.update({index: own.get(index, 1) + 1 for index in back})
    return AttemptLayout(counts=layout.counts, nodes=nodes, runs=runs)


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


class PodProgress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of one set by what was last reported of their present run.

    `started` and `ready` have pods that have ended since too; each of these is in one of
    `succeeded`, `failed` and `stopped`.
    """

    started: IndexRanges = ()
    ready: IndexRanges = ()
    succeeded: IndexRanges = ()
    failed: IndexRanges = ()
    stopped: IndexRanges = ()

    def has_ended(self, index: int) -> bool:
        """Whether the pod runs no more."""
        return any(
            contains(ranges, index) for ranges in (self.succeeded, self.failed, self.stopped)
        )

    def is_known(self, index: int, state: str) -> bool:
        """Whether a report says nothing new: the pod is that far, or has ended."""
        if self.has_ended(index):
            return True
        return contains(self.started if state == "started" else self.ready, index) and (
            state in {"started", "ready"}
        )


NO_PROGRESS = PodProgress()


def scheduled_count(progress: PodProgress, reclaimable: int) -> int:
    """How many pods of a set run, or have succeeded or are reclaimable."""
    ended = joined(joined(progress.succeeded, progress.failed), progress.stopped)
    succeeded = count_of(progress.succeeded)
    running = count_of(joined(progress.started, ended)) - count_of(ended)
    return running + max(succeeded, reclaimable)


class DelayedPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one set with the instant at which their next runs may start."""

    pod_set: str
    indices: IndexRanges
    until: Instant


class RetryState(msgspec.Struct, frozen=True, kw_only=True):
    """The retries of a workload over all attempts.

    `count` are those that count against the limit, `by_index` those of single pods. `failed` are
    indices that have failed for good, `delayed` pods of this attempt in a backoff.
    """

    count: int = 0
    by_index: dict[str, dict[int, int]] = {}
    failed: dict[str, IndexRanges] = {}
    delayed: tuple[DelayedPods, ...] = ()

    def is_delayed(self, pod_set: str, index: int) -> bool:
        """Whether the next run of the pod waits for the end of its backoff."""
        return any(
            each.pod_set == pod_set and contains(each.indices, index) for each in self.delayed
        )


NO_RETRY = RetryState()
ProgressBySet = Mapping[str, PodProgress]


def after_report(progress: ProgressBySet, pods: Iterable[ReportedPods]) -> dict[str, PodProgress]:
    """The progress with what a report says."""
    found = dict(progress)
    for each in pods:
        before = found.get(each.pod_set, NO_PROGRESS)
        found[each.pod_set] = _after(before, each)
    return found


def without_pods_at(
    progress: ProgressBySet, pod_set: str, indices: Iterable[int]
) -> dict[str, PodProgress]:
    """The progress without pods that begin another run or have left."""
    known = progress.get(pod_set)
    if known is None:
        return dict(progress)
    gone = tuple(indices)
    fields = {name: without(getattr(known, name), gone) for name in known.__struct_fields__}
    return {**progress, pod_set: PodProgress(**fields)}


def _after(known: PodProgress, told: ReportedPods) -> PodProgress:
    started = joined(known.started, told.indices)
    match told.type:
        case "started":
            return replace(known, started=started)
        case "ready":
            return replace(known, started=started, ready=joined(known.ready, told.indices))
        case "stopped":
            return replace(known, stopped=joined(known.stopped, told.indices))
        case "finished" if told.reason == "Completed":
            succeeded = joined(known.succeeded, told.indices)
            return replace(known, started=started, succeeded=succeeded)
        case _:
            failed = joined(known.failed, told.indices)
            return replace(known, started=started, failed=failed)
