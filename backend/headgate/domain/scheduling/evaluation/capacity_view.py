"""The projected state of a partition as a search for victims tries it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.freeable_domains import EvictionSimulation, LeafPods
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.preemption.request import Candidate
from headgate.domain.scheduling.quota.dominant_resource_share import (
    ShareOrder,
    dominant_resource_share,
)
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.quota.usage import (
    QuotaUsage,
    QuotaView,
    add_usage,
    available,
    borrowing_level,
    is_within_nominal,
    quantities_fit_in_quota,
    remove_usage,
)
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.state import Workload

Place = TypeVar("Place")
Workloads = Mapping[str, Workload]


def charge_fits(partition: Partition, charge: Charge, views: tuple[int, ...]) -> bool:
    """Whether quota and hosts have room for exactly this, in all of these views."""
    quota = QuotaView(partition.tree, *partition.usage)
    node = f"clusterqueue/{charge.cluster_queue}"
    quota_fits = quota.fits if ACTUAL in views else quota.fits_projected
    return (
        charge.is_whole
        and quota_fits(node, charge.amounts)
        and all(partition.hosts.fits(view, charge.pods) for view in views)
    )


class Seats(msgspec.Struct, Generic[Place], frozen=True):
    """Whether hosts have a place, which is the best, and what one takes.

    With a `clearing` hosts are tried in its numbers, of which `place` finds the best place.
    """

    has_place: Callable[[], bool]
    place: Callable[[], Place | None]
    charge_at: Callable[[Place], Charge]
    clearing: EvictionSimulation | None = None


class CapacityView(msgspec.Struct, Generic[Place], frozen=True):
    """What is there once everyone leaving, and everyone removed, has left (`removal.Room`)."""

    partition: Partition
    workloads: Workloads
    has_place: Callable[[], bool]
    place: Callable[[], Place | None]
    is_free: Callable[[Place], bool]
    move: Callable[[Candidate, bool], None]
    only: Mapping[str, Sequence[Candidate]] | None = None
    strides: bool = True

    @property
    def path(self) -> Mapping[str, tuple[str, ...]]:
        """Each ClusterQueue and cohort with its ancestors up to the root."""
        return self.partition.tree.path

    @property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """What stands right below each cohort."""
        return self.partition.tree.children

    def used(self, node: str, key: FlavorResource, /) -> int:
        """What a node uses."""
        return self._usage[node].get(key, 0)

    def nominal(self, node: str, key: FlavorResource, /) -> int:
        """A node's own quota."""
        return self.partition.tree.nominal(node, key)

    def available(self, node: str, key: FlavorResource, /) -> int:
        """How much more a ClusterQueue may use."""
        return available(self.partition.tree, self._usage, node, key)

    def is_within(self, node: str, keys: Iterable[FlavorResource], /) -> bool:
        """Whether a node uses no more than its subtree owns."""
        return is_within_nominal(self.partition.tree, self._usage, node, keys)

    def serve(
        self, node: str, asked: FlavorResourceQuantities, /
    ) -> tuple[bool, FlavorResourceQuantities]:
        """Whether a node can hold what is asked within its quota, and what its parent must add."""
        return quantities_fit_in_quota(self.partition.tree, self._usage, node, asked)

    def share(self, node: str, /) -> ShareOrder:
        """The fair share of a node."""
        return dominant_resource_share(self.partition.tree, self._usage, node).order

    def level(self, node: str, amounts: FlavorResourceQuantities, /) -> int:
        """From how far a ClusterQueue would borrow for this."""
        tree, usage = self.partition.tree, self._usage
        levels = (borrowing_level(tree, usage, node, *amount)[0] for amount in amounts.items())
        return max(levels, default=0)

    def charge(self, node: str, amounts: FlavorResourceQuantities, /) -> None:
        """Count so much more as used by a ClusterQueue."""
        add_usage(self.partition.tree, self._usage, node, amounts)

    def uncharge(self, node: str, amounts: FlavorResourceQuantities, /) -> None:
        """The exact opposite of `charge`."""
        remove_usage(self.partition.tree, self._usage, node, amounts)

    def holders(self, node: str, /) -> Iterator[Candidate]:
        """Everyone who holds a place through a ClusterQueue, or those of them who matter."""
        if self.only is not None:
            yield from self.only.get(node, ())
            return
        held = self.partition.charges.holding.get(node.removeprefix("clusterqueue/"), {})
        for key, charge in held.items():
            if key in self.partition.charges.divisible:
                yield from parts_in(self.partition, self.workloads[key])
            else:
                yield Candidate(self.workloads[key], node, charge.amounts)

    def remove(self, candidate: Candidate, /) -> None:
        """Count a candidate's place as free."""
        self.move(candidate, False)  # noqa: FBT003 - whether it is there afterwards

    def restore(self, candidate: Candidate, /) -> None:
        """Count it as taken again."""
        self.move(candidate, True)  # noqa: FBT003 - whether it is there afterwards

    @property
    def _usage(self) -> QuotaUsage:
        return self.partition.usage[PROJECTED]


def parts_in(partition: Partition, workload: Workload) -> Iterator[Candidate]:
    """Someone who may lose single pods, in the parts in which it leaves."""
    for part in partition.charges.divisible[workload.key]:
        charge = partition.charges.charge_of(workload, part.admission)
        yield Candidate(workload, f"clusterqueue/{charge.cluster_queue}", charge.amounts, part)


def charge_of(partition: Partition, candidate: Candidate) -> Charge:
    """What a candidate would free."""
    if candidate.part is not None:
        return partition.charges.charge_of(candidate.workload, candidate.part.admission)
    return partition.charges.held_by(candidate.workload)


def quota_room(partition: Partition, workloads: Workloads) -> CapacityView[bool]:
    """Quota alone: any place on hosts will do."""

    def move(candidate: Candidate, back: bool) -> None:  # noqa: FBT001 - as the room calls it
        change = add_usage if back else remove_usage
        usage = partition.usage[PROJECTED]
        change(partition.tree, usage, candidate.node, candidate.amounts)

    return CapacityView(partition, workloads, lambda: True, lambda: True, bool, move)


def host_room(
    partition: Partition,
    workloads: Workloads,
    seats: Seats[Place],
    only: Mapping[str, Sequence[Candidate]] | None = None,
) -> CapacityView[Place]:
    """Quota and hosts; `only` are the candidates by ClusterQueue, where they are known."""

    def is_free(found: Place) -> bool:
        charge = seats.charge_at(found)
        return charge.is_whole and partition.hosts.fits(PROJECTED, charge.pods)

    def move(candidate: Candidate, back: bool) -> None:  # noqa: FBT001 - as the room calls it
        change = partition.charges.take if back else partition.charges.release
        change(PROJECTED, charge_of(partition, candidate))

    return CapacityView(partition, workloads, seats.has_place, seats.place, is_free, move, only)


def cleared_room(
    partition: Partition,
    workloads: Workloads,
    seats: Seats[Place],
    clearing: EvictionSimulation,
    only: Mapping[str, Sequence[Candidate]],
) -> CapacityView[Place]:
    """Quota, and the hosts of one domain in plain numbers; the host table stays as it is."""
    tree, usage = partition.tree, partition.usage[PROJECTED]
    seatings: list[tuple[Place, LeafPods | None]] = []

    def place() -> Place | None:
        clearing.write_trial_view()
        return seats.place()

    def is_free(found: Place) -> bool:
        if not seatings or seatings[0][0] is not found:
            charge = seats.charge_at(found)
            seatings[:] = [(found, clearing.leaf_pods(charge.pods) if charge.is_whole else None)]
        seating = seatings[0][1]
        return seating is not None and clearing.fits_at(seating)

    def move(candidate: Candidate, back: bool) -> None:  # noqa: FBT001 - as the room calls it
        change, on_hosts = (
            (add_usage, clearing.restore) if back else (remove_usage, clearing.remove)
        )
        change(tree, usage, candidate.node, candidate.amounts)
        on_hosts(candidate.key, lambda: charge_of(partition, candidate).pods)

    has_place = clearing.fits
    return CapacityView(partition, workloads, has_place, place, is_free, move, only, strides=False)
