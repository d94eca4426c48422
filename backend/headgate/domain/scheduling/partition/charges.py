"""What those who hold a place, or are promised one, take of quota and hosts, in two views.

ACTUAL counts who holds a place now; PROJECTED leaves out who is on the way out and counts the
places that open rounds keep for their preemptors (preemption.md §6.5).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex, AdmittedUnit
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import (
    ACTUAL,
    PROJECTED,
    HostTable,
    Ints,
    leaf_id,
)
from headgate.domain.scheduling.placement.placement_context import single_pod_requests
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import QuotaUsage, add_usage, empty_usage, remove_usage
from headgate.domain.values.quantities import FlavorResource, Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import (
    EvictionUnit,
    eviction_units,
    is_divisible,
    without_evicting_pods,
)
from headgate.domain.workloads.pods.trimmed_assignments import needed_admission
from headgate.domain.workloads.predicates import (
    has_quota_reservation,
    has_released_quota,
    is_evicting,
)
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload

ChargedAdmissions: TypeAlias = tuple[Admission | None, Admission | None]
"""What somebody takes in the actual and in the projected view."""


def is_usage_unchanged(old: Workload | None, new: Workload | None) -> bool:
    """Whether nothing has changed that its charges follow from; true for most facts."""
    return (
        old is not None
        and new is not None
        and old.admission is new.admission
        and old.nomination is new.nomination
        and old.eviction is new.eviction
        and old.pod_evictions is new.pod_evictions
        and old.spec is new.spec
        and old.reclaimable is new.reclaimable
        and old.finished_at == new.finished_at
    )


def has_new_assignment(old: Workload | None, new: Workload) -> bool:
    """Whether it was given other places while it keeps its quota."""
    return old is not None and old.admission is not None and old.admission is not new.admission


def has_reclaimed_pods(old: Workload | None, new: Workload | None) -> bool:
    """Whether the same pods are needed no more, so that the same admission takes another amount."""
    if old is None or new is None:
        return False
    shrunk = old.spec is not new.spec and old.spec.pod_sets != new.spec.pod_sets
    released = new.admission is not None and has_released_quota(old) != has_released_quota(new)
    return shrunk or released or old.reclaimable != new.reclaimable


def frees_capacity(
    old: Workload | None, before: ChargedAdmissions, after: ChargedAdmissions
) -> bool:
    """Whether someone who did not fit might fit now, or might make room otherwise than before."""
    was, now = before[PROJECTED], after[PROJECTED]
    freed = before[ACTUAL] is not None and after[ACTUAL] is None
    withdrawn = old is not None and old.nomination is not None and now is None
    moved = was is not now and was is not None and now is not None and was != now
    return freed or withdrawn or moved


def charged_admissions(workload: Workload | None) -> ChargedAdmissions:
    """What it takes in the actual and in the projected view."""
    if workload is None or workload.finished_at is not None:
        return None, None
    if workload.admission is None:
        return None, workload.nomination
    if workload.eviction is not None:
        return workload.admission, None
    if not workload.pod_evictions:
        return workload.admission, workload.admission
    return workload.admission, without_evicting_pods(workload.admission, workload.pod_evictions)


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What one admission takes: amounts of quota, and pods on hosts with what each pod takes.

    `is_whole` is false if some of its places are gone; pods there are charged nowhere.
    """

    cluster_queue: str
    amounts: FlavorResourceQuantities
    pods: tuple[tuple[Ints, Ints, Requests], ...]
    is_whole: bool = True


Move: TypeAlias = tuple[int, Callable[[int, Charge], None], Charge]
"""A view, what is done to it, and with what."""


class Charges:
    """Usage and hosts of a partition, and who holds what of them.

    `holding` is what each holder takes, by ClusterQueue; `divisible` are the parts of those who may
    lose single pods. `known_holders` is who holds most of something where others could use it, by
    where that is, until anyone's charge changes.
    """

    def __init__(
        self, tree: QuotaTree, hosts: HostTable, topologies: Mapping[str, FlavorTopology]
    ) -> None:
        self.usage: tuple[QuotaUsage, QuotaUsage] = (empty_usage(tree), empty_usage(tree))
        self.holding: dict[str, dict[str, Charge]] = {
            name: {}
            for kind, _, name in (node.partition("/") for node in sorted(tree.path))
            if kind == "clusterqueue"
        }
        self.divisible: dict[str, tuple[EvictionUnit, ...]] = {}
        self.known_holders: dict[tuple[str, FlavorResource], tuple[str, ...]] = {}
        self._tree = tree
        self._hosts = hosts
        self._topologies = topologies
        self._admitted = AdmittedIndex(hosts)
        self._changed: dict[str, Workload | None] = {}

    def replace(self, old: Workload | None, new: Workload | None) -> list[Move]:
        """Take into account what a workload takes now, and answer what that changed.

        Everything that could fail is worked out before anything is changed.
        """
        moves, held = self._moves(old, new)
        for view, change, charge in moves:
            change(view, charge)
        for workload in (old, new):
            if workload is not None and workload.admission is not None:
                self._changed[workload.key] = new
        self._rehold(old, new, held)
        return moves

    def charge_of(self, workload: Workload, admission: Admission) -> Charge:
        """What an admission of this workload takes.

        Pods that have ended take no quota. Their hosts are told with the end of all: which of them
        have ended is not known.
        """
        amounts: FlavorResourceQuantities = {}
        pods = []
        is_whole = True
        pod_sets = workload.spec.pod_sets
        takes_quota = not has_released_quota(workload)
        needed = needed_admission(admission, pod_sets, workload.reclaimable)
        for given in needed.pod_set_assignments:
            for resource, amount in given.resource_usage.items() if takes_quota else ():
                if amount:
                    key = (given.flavors.get(resource, ""), resource)
                    amounts[key] = amounts.get(key, 0) + amount
            if given.topology_assignment is None:
                continue
            pod_set = next((each for each in pod_sets if each.name == given.name), None)
            if pod_set is not None:
                domains = given.topology_assignment.domains
                levels = given.topology_assignment.levels
                flavor = next((f for f in given.flavors.values() if f in self._topologies), "")
                rows, counts = self._hosts.rows_of(
                    (leaf_id(flavor, levels, d.values), d.count) for d in domains
                )
                is_whole = is_whole and len(rows) == len(domains)
                pods.append((rows, counts, single_pod_requests(pod_set)))
        return Charge(admission.cluster_queue, amounts, tuple(pods), is_whole)

    def held_by(self, workload: Workload) -> Charge:
        """What a workload that holds a place takes."""
        assert workload.admission is not None, "only who was admitted holds a place"
        known = self.holding.get(workload.admission.cluster_queue, {}).get(workload.key)
        return known or self.charge_of(workload, workload.admission)

    def take(self, view: int, charge: Charge) -> None:
        """Charge usage and hosts of one view."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self._tree.path:
            add_usage(self._tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self._hosts.charge(view, rows, counts, requests)

    def release(self, view: int, charge: Charge) -> None:
        """The exact opposite of `take`."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self._tree.path:
            remove_usage(self._tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self._hosts.charge(view, rows, -counts, requests)

    @contextmanager
    def without(self, workload: Workload | None) -> Iterator[None]:
        """As if one who holds a place had ended; exactly as it was again on leaving."""
        if workload is None or workload.admission is None:
            yield
            return
        queue, charge = workload.admission.cluster_queue, self.held_by(workload)
        holding = self.holding[queue]
        self.holding[queue] = {key: held for key, held in holding.items() if key != workload.key}
        self.known_holders.clear()
        for view in (ACTUAL, PROJECTED):
            self.release(view, charge)
        try:
            yield
        finally:
            for view in (ACTUAL, PROJECTED):
                self.take(view, charge)
            self.holding[queue] = holding
            self.known_holders.clear()

    def admitted(self) -> AdmittedIndex:
        """Everyone who holds a place and is not leaving, as arrays."""
        for key, workload in self._changed.items():
            if workload is None or not has_quota_reservation(workload) or is_evicting(workload):
                self._admitted.remove(key)
            else:
                self._admitted.add(key, *self._standings(workload))
        self._changed.clear()
        return self._admitted

    def _standings(self, workload: Workload) -> Iterator[AdmittedUnit]:
        protection = protection_of(workload.spec)
        is_preemptible = workload.spec.preemptibility == "Preemptible"
        parts = self.divisible.get(workload.key)
        if parts is None:
            charge = self.held_by(workload)
            yield AdmittedUnit(charge.cluster_queue, protection, is_preemptible, charge.pods)
            return
        for part in parts:
            charge = self.charge_of(workload, part.admission)
            may_go = is_preemptible or not part.is_remainder
            name = "" if part.is_remainder else part.name
            yield AdmittedUnit(charge.cluster_queue, protection, may_go, charge.pods, name)

    def _moves(
        self, old: Workload | None, new: Workload | None
    ) -> tuple[list[Move], Charge | None]:
        """What is given back and taken in each view, and what `new` holds afterwards."""
        before, after = charged_admissions(old), charged_admissions(new)
        reclaimed = has_reclaimed_pods(old, new)
        held = None
        if new is not None and (given := after[ACTUAL]) is not None:
            anew = reclaimed or has_new_assignment(old, new)
            held = self.charge_of(new, given) if anew else self._charge(new, given)
        moves: list[Move] = []
        for view in (ACTUAL, PROJECTED):
            same = before[view] is after[view] or before[view] == after[view]
            if same and not reclaimed:
                continue
            if old is not None and (given := before[view]) is not None:
                moves.append((view, self.release, self._charge(old, given)))
            if new is not None and (given := after[view]) is not None:
                same = held is not None and given is after[ACTUAL]
                charge = held if same and held is not None else self.charge_of(new, given)
                moves.append((view, self.take, charge))
        return moves, held

    def _charge(self, workload: Workload, admission: Admission | None) -> Charge:
        assert admission is not None, "nothing is charged without an admission"
        if admission is workload.admission:
            return self.held_by(workload)
        return self.charge_of(workload, admission)

    def _rehold(self, old: Workload | None, new: Workload | None, held: Charge | None) -> None:
        self.known_holders.clear()
        if old is not None and old.admission is not None:
            self.holding.get(old.admission.cluster_queue, {}).pop(old.key, None)
            self.divisible.pop(old.key, None)
        if new is not None and held is not None:
            self.holding.setdefault(held.cluster_queue, {})[new.key] = held
            if is_divisible(new.spec) and (parts := eviction_units(new)):
                self.divisible[new.key] = parts
