"""Places for fewer pods than before: the last in rank order go first (topology.md §2, Elastic)."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.specs import PodSet


def pod_count(assignment: TopologyAssignment) -> int:
    """How many pods have a place in it."""
    return sum(domain.count for domain in assignment.domains)


def trimmed_to(assignment: TopologyAssignment, count: int) -> TopologyAssignment:
    """The first `count` places; the same assignment where there are no more than that.

    Order is kept as it is stored. Where the count is whole slices, so is every domain that stays.
    """
    if pod_count(assignment) <= count:
        return assignment
    return replace(assignment, domains=tuple(_first(assignment.domains, count)))


def without_ranks(assignment: TopologyAssignment, count: int, later: int) -> TopologyAssignment:
    """Without `count` places, those that come before the last `later` ones; the same if none go."""
    if count <= 0:
        return assignment
    head = trimmed_to(assignment, max(0, pod_count(assignment) - later - count))
    tail = tuple(_last(assignment.domains, later))
    return replace(assignment, domains=_joined(head.domains, tail))


def trimmed_admission(admission: Admission, pod_sets: tuple[PodSet, ...]) -> Admission:
    """The admission with places for no more pods than the pod sets have now; else it is the same.

    Counts and usage stay as they were given: what is needed of them follows from the pod sets.
    """
    counts = {pod_set.name: pod_set.count for pod_set in pod_sets}
    given = tuple(_cut(assigned, counts) for assigned in admission.pod_set_assignments)
    return admission if given == admission.pod_set_assignments else _with(admission, given)


def _first(domains: tuple[TopologyDomain, ...], count: int) -> Iterator[TopologyDomain]:
    left = count
    for domain in domains:
        if left <= 0:
            return
        yield replace(domain, count=min(domain.count, left))
        left -= domain.count


def _last(domains: tuple[TopologyDomain, ...], count: int) -> Iterator[TopologyDomain]:
    skipped = sum(domain.count for domain in domains) - count
    for domain in domains:
        left = domain.count - max(0, skipped)
        skipped -= domain.count
        if left > 0:
            yield replace(domain, count=left)


def _joined(
    head: tuple[TopologyDomain, ...], tail: tuple[TopologyDomain, ...]
) -> tuple[TopologyDomain, ...]:
    """One domain after the other; the one that they share is in it once."""
    if not (head and tail and head[-1].values == tail[0].values):
        return (*head, *tail)
    both = replace(head[-1], count=head[-1].count + tail[0].count)
    return (*head[:-1], both, *tail[1:])


def _cut(given: PodSetAssignment, counts: Mapping[str, int]) -> PodSetAssignment:
    known = given.topology_assignment
    if known is None:
        return given
    cut = trimmed_to(known, counts.get(given.name, given.count))
    return given if cut is known else replace(given, topology_assignment=cut)


def _with(admission: Admission, given: tuple[PodSetAssignment, ...]) -> Admission:
    return replace(admission, pod_set_assignments=given)
