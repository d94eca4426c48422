"""What admissions and nominations take of quota and hosts, in two views.

ACTUAL counts present admissions; PROJECTED leaves out what is being evicted and counts the
capacity that open rounds nominate for their preemptors (preemption.md §6.5).
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
from headgate.domain.scheduling.placement.neighbors import PlacedIndex, PlacedWorkload
from headgate.domain.scheduling.placement.placement_context import single_pod_requests
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import QuotaUsage, add_usage, empty_usage, remove_usage
from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.quantities import FlavorResource, Requests
from headgate.domain.workloads.admission import Admission, needed_admission
from headgate.domain.workloads.pods.eviction_units import (
    DivisibleWorkload,
    EvictionUnit,
    divisible_workload,
    lost_pods,
    protection_of_unit,
    without_evicting_pods,
)
from headgate.domain.workloads.predicates import (
    has_quota_reservation,
    has_released_quota,
    is_evicting,
)
from headgate.domain.workloads.protection import is_divisible, may_evict_whole
from headgate.domain.workloads.state import Workload

ChargedAdmissions: TypeAlias = tuple[Admission | None, Admission | None]
"""The admissions of one workload that are charged in the ACTUAL and in the PROJECTED view."""


def is_usage_unchanged(old: Workload | None, new: Workload | None) -> bool:
    """Whether nothing has changed that charges follow from; true for most events."""
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
        and (old.layout is new.layout or not is_divisible(new.spec))
        and (
            old.progress is new.progress
            or not is_divisible(new.spec)
            or _ended_pods(old) == _ended_pods(new)
        )
    )


def _ended_pods(workload: Workload) -> list[tuple[IndexRanges, ...]]:
    """The pods of a workload that have ended, which are in no eviction unit."""
    return [(p.succeeded, p.failed, p.stopped) for _, p in sorted(workload.progress.items())]


def has_new_assignment(old: Workload | None, new: Workload) -> bool:
    """Whether the workload was assigned other hosts while it keeps its quota."""
    return old is not None and old.admission is not None and old.admission is not new.admission


def has_reclaimed_pods(old: Workload | None, new: Workload | None) -> bool:
    """Whether the pods needed have changed, so that an equal admission takes other amounts."""
    if old is None or new is None:
        return False
    shrunk = old.spec is not new.spec and old.spec.pod_sets != new.spec.pod_sets
    released = new.admission is not None and has_released_quota(old) != has_released_quota(new)
    return shrunk or released or old.reclaimable != new.reclaimable


def frees_capacity(
    old: Workload | None, before: ChargedAdmissions, after: ChargedAdmissions
) -> bool:
    """Whether a workload that did not fit may fit now, or may preempt other victims than before."""
    was, now = before[PROJECTED], after[PROJECTED]
    freed = before[ACTUAL] is not None and after[ACTUAL] is None
    withdrawn = old is not None and old.nomination is not None and now is None
    moved = was is not now and was is not None and now is not None and was != now
    return freed or withdrawn or moved


def charged_admissions(workload: Workload | None) -> ChargedAdmissions:
    """Return the admissions of a workload that are charged in each view."""
    if workload is None or workload.finished_at is not None:
        return None, None
    if workload.admission is None:
        return None, workload.nomination
    if workload.eviction is not None:
        return workload.admission, None
    if not workload.pod_evictions:
        return workload.admission, workload.admission
    return workload.admission, without_evicting_pods(workload)


NO_PODS_PLACED = PlacedWorkload((), ())


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What one admission takes: amounts of quota, and pods on hosts with the requests of each pod.

    `is_whole` is false if some of its hosts are gone; pods there are charged nowhere. `placed` are
    the pods with their pod sets, of the workload with this key.
    """

    cluster_queue: str
    amounts: FlavorResourceQuantities
    pods: tuple[tuple[Ints, Ints, Requests], ...]
    is_whole: bool = True
    workload: str = ""
    placed: PlacedWorkload = NO_PODS_PLACED


ChargeChange: TypeAlias = tuple[int, Callable[[int, Charge], None], Charge]
"""A view, the change made to it, and the charge that is added or released."""


class Charges:
    """Usage and hosts of a partition, and the charge of each admitted workload.

    `holding` has the charges by ClusterQueue and workload; `divisible` the workloads that may lose
    single pods, `shrunk` names those that lost some. `known_holders` caches
    which workloads hold most of a FlavorResource below a node of the quota tree, until any charge
    changes. `neighbors` are the pods on hosts in each view.
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
        self.divisible: dict[str, DivisibleWorkload] = {}
        self._unit_charges: dict[str, dict[str, Charge]] = {}
        self.shrunk: dict[str, None] = {}
        self.known_holders: dict[tuple[str, FlavorResource], tuple[str, ...]] = {}
        self._tree = tree
        self._hosts = hosts
        self._topologies = topologies
        self._admitted = AdmittedIndex(hosts)
        self.neighbors = PlacedIndex()
        self._changed: dict[str, Workload | None] = {}
        self._nominated: dict[str, tuple[Admission, Charge]] = {}

    def replace(self, old: Workload | None, new: Workload | None) -> list[ChargeChange]:
        """Charge what a workload takes now, and return what that changed.

        Whatever can fail is computed before anything is changed.
        """
        if old is not None and old.nomination is not None:
            self._nominated.pop(old.key, None)
        changes, held = self._changes(old, new)
        for view, change, charge in changes:
            change(view, charge)
        self._note_changed(old, new)
        self._update_holding(old, new, held)
        return changes

    def _note_changed(self, old: Workload | None, new: Workload | None) -> None:
        """Note what the index of admitted workloads must take in, which only preemption reads."""
        kept = new if new is not None and has_quota_reservation(new) else None
        found = old if new is None or new.admission is None else new
        if found is None or found.admission is None:
            return
        key = found.key
        if kept is None and key not in self._admitted:
            self._changed.pop(key, None)
        else:
            self._changed[key] = kept

    def charge_of(self, workload: Workload, admission: Admission) -> Charge:
        """Return what an admission of this workload takes.

        Pods that have ended take no quota, but keep their hosts until their pod set has ended.
        """
        amounts: FlavorResourceQuantities = {}
        pods, placed = [], []
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
                placed.append(pod_set)
        on_hosts = tuple(pods)
        known = PlacedWorkload(tuple(placed), on_hosts) if pods else NO_PODS_PLACED
        return Charge(admission.cluster_queue, amounts, on_hosts, is_whole, workload.key, known)

    def charge_of_unit(self, workload: Workload, unit: EvictionUnit) -> Charge:
        """Return what an eviction unit takes; that of single pods is kept while they stay."""
        if unit.is_remainder:
            return self.charge_of(workload, unit.admission)
        known = self._unit_charges.setdefault(workload.key, {})
        if unit.name not in known:
            known[unit.name] = self.charge_of(workload, unit.admission)
        return known[unit.name]

    def nominated_by(self, workload: Workload) -> Charge:
        """Return what the nomination of a workload takes; it is kept while nothing changes it."""
        assert workload.nomination is not None, "only a nominated workload has a nomination"
        nomination, known = self._nominated.get(workload.key, (None, None))
        if known is None or nomination is not workload.nomination:
            known = self.charge_of(workload, workload.nomination)
            self._nominated[workload.key] = (workload.nomination, known)
        return known

    def held_by(self, workload: Workload) -> Charge:
        """Return what an admitted workload takes."""
        assert workload.admission is not None, "an admitted workload has an admission"
        known = self.holding.get(workload.admission.cluster_queue, {}).get(workload.key)
        return known or self.charge_of(workload, workload.admission)

    def acquire(self, view: int, charge: Charge) -> None:
        """Add a charge to usage and hosts of one view."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self._tree.path:
            add_usage(self._tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self._hosts.charge(view, rows, counts, requests)
        if charge.pods:
            self.neighbors.add(view, charge.workload, charge.placed)

    def release(self, view: int, charge: Charge) -> None:
        """Undo `acquire`."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self._tree.path:
            remove_usage(self._tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self._hosts.charge(view, rows, -counts, requests)
        if charge.pods:
            self.neighbors.remove(view, charge.workload)

    @contextmanager
    def without(self, workload: Workload | None) -> Iterator[None]:
        """Release an admitted workload inside the context; restore it exactly on leaving."""
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
                self.acquire(view, charge)
            self.holding[queue] = holding
            self.known_holders.clear()

    def admitted(self) -> AdmittedIndex:
        """Return all admitted workloads that are not being evicted, as arrays."""
        for key, workload in self._changed.items():
            if workload is None or is_evicting(workload):
                self._admitted.remove(key)
            else:
                self._admitted.add(key, *self._admitted_units(workload))
        self._changed.clear()
        return self._admitted

    def _admitted_units(self, workload: Workload) -> Iterator[AdmittedUnit]:
        is_preemptible = may_evict_whole(workload.spec)
        divisible = self.divisible.get(workload.key)
        if divisible is None:
            charge = self.held_by(workload)
            protection = protection_of_unit(workload.spec, None)
            yield AdmittedUnit(charge.cluster_queue, protection, is_preemptible, charge.pods)
            return
        undivided, remainder = divisible.undivided(), divisible.units()[-1]
        for unit in (*divisible.single, undivided):
            charge = self.charge_of_unit(workload, unit)
            yield AdmittedUnit(
                charge.cluster_queue,
                protection_of_unit(workload.spec, remainder if unit is undivided else unit),
                is_preemptible or unit is not undivided,
                charge.pods,
                "" if unit is undivided else unit.name,
                unit.eviction_order,
            )

    def _changes(
        self, old: Workload | None, new: Workload | None
    ) -> tuple[list[ChargeChange], Charge | None]:
        """What is released and taken in each view, and what `new` holds afterwards."""
        before, after = charged_admissions(old), charged_admissions(new)
        has_reclaimed = has_reclaimed_pods(old, new)
        held = None
        if new is not None and (given := after[ACTUAL]) is not None:
            is_new = has_reclaimed or has_new_assignment(old, new)
            held = self.charge_of(new, given) if is_new else self._charge(new, given)
        changes: list[ChargeChange] = []
        for view in (ACTUAL, PROJECTED):
            same = before[view] is after[view] or before[view] == after[view]
            if same and not has_reclaimed:
                continue
            if old is not None and (given := before[view]) is not None:
                changes.append((view, self.release, self._charge(old, given)))
            if new is not None and (given := after[view]) is not None:
                same = held is not None and given is after[ACTUAL]
                charge = held if same and held is not None else self.charge_of(new, given)
                changes.append((view, self.acquire, charge))
        return changes, held

    def _charge(self, workload: Workload, admission: Admission | None) -> Charge:
        assert admission is not None, "nothing is charged without an admission"
        if admission is workload.admission:
            return self.held_by(workload)
        return self.charge_of(workload, admission)

    def _update_holding(
        self, old: Workload | None, new: Workload | None, held: Charge | None
    ) -> None:
        self.known_holders.clear()
        if old is not None and old.admission is not None:
            key = old.key
            self.holding.get(old.admission.cluster_queue, {}).pop(key, None)
            self.divisible.pop(key, None)
            self._unit_charges.pop(key, None)
            self.shrunk.pop(key, None)
        if new is not None and held is not None:
            self.holding.setdefault(held.cluster_queue, {})[new.key] = held
            if (divisible := divisible_workload(new)) is not None:
                self.divisible[new.key] = divisible
            if lost_pods(new):
                self.shrunk[new.key] = None
