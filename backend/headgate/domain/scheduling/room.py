"""The projected state of a partition as a search for victims tries it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.domain.scheduling.partition import Charge, Partition
from headgate.domain.scheduling.placement.hosts import ACTUAL, PROJECTED
from headgate.domain.scheduling.preemption.claims import Candidate
from headgate.domain.scheduling.quota.answer import QuotaView
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import Usage, add_usage, remove_usage
from headgate.domain.workloads.state import Workload

Place = TypeVar("Place")
Workloads = Mapping[str, Workload]


def fits(partition: Partition, charge: Charge, views: tuple[int, ...]) -> bool:
    """Whether quota and hosts have room for exactly this, in all of these views."""
    quota = QuotaView(partition.tree, *partition.usage)
    node = f"clusterqueue/{charge.cluster_queue}"
    quota_fits = quota.has_room if ACTUAL in views else quota.has_projected_room
    return (
        charge.is_whole
        and quota_fits(node, charge.amounts)
        and all(partition.hosts.has_room(view, charge.pods) for view in views)
    )


@dataclass(frozen=True, slots=True)
class Seats(Generic[Place]):
    """Whether hosts have a place, which is the best, and what one takes."""

    has_place: Callable[[], bool]
    place: Callable[[], Place | None]
    charge_at: Callable[[Place], Charge]


@dataclass(frozen=True, slots=True)
class ProjectedRoom(Generic[Place]):
    """What is there once everyone leaving, and everyone removed, has left (`removal.Room`)."""

    partition: Partition
    workloads: Workloads
    has_place: Callable[[], bool]
    place: Callable[[], Place | None]
    is_free: Callable[[Place], bool]
    move: Callable[[Candidate, bool], None]

    @property
    def tree(self) -> QuotaTree:
        """The cohorts and ClusterQueues of the partition."""
        return self.partition.tree

    @property
    def usage(self) -> Usage:
        """What is used."""
        return self.partition.usage[PROJECTED]

    def holders(self, node: str, /) -> Iterator[Candidate]:
        """Everyone who holds a place through a ClusterQueue."""
        held = self.partition.holding.get(node.removeprefix("clusterqueue/"), {})
        for key, charge in held.items():
            yield Candidate(self.workloads[key], node, charge)

    def remove(self, candidate: Candidate, /) -> None:
        """Count a candidate's place as free."""
        self.move(candidate, False)  # noqa: FBT003 - whether it is there afterwards

    def restore(self, candidate: Candidate, /) -> None:
        """Count it as taken again."""
        self.move(candidate, True)  # noqa: FBT003 - whether it is there afterwards


def quota_room(partition: Partition, workloads: Workloads) -> ProjectedRoom[bool]:
    """Quota alone: any place on hosts will do."""

    def move(candidate: Candidate, back: bool) -> None:  # noqa: FBT001 - as the room calls it
        change = add_usage if back else remove_usage
        usage = partition.usage[PROJECTED]
        change(partition.tree, usage, candidate.node, candidate.charge.amounts)

    return ProjectedRoom(partition, workloads, lambda: True, lambda: True, bool, move)


def host_room(
    partition: Partition, workloads: Workloads, seats: Seats[Place]
) -> ProjectedRoom[Place]:
    """Quota and hosts."""

    def is_free(found: Place) -> bool:
        charge = seats.charge_at(found)
        return charge.is_whole and partition.hosts.has_room(PROJECTED, charge.pods)

    def move(candidate: Candidate, back: bool) -> None:  # noqa: FBT001 - as the room calls it
        change = partition.take if back else partition.give_back
        change(PROJECTED, candidate.charge)

    return ProjectedRoom(partition, workloads, seats.has_place, seats.place, is_free, move)
