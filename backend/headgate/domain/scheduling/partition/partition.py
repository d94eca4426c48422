"""The fold a cycle works on: quota, usage, hosts, who waits, who holds, and what is due.

Everything is kept up to date workload by workload with `replace`, whose undo is the opposite
`replace`; only a change of configuration builds a partition anew. Usage and hosts exist in two
views (preemption.md §6.5): ACTUAL counts who holds a place now, PROJECTED leaves out who is on the
way out and counts the places that open rounds keep for their preemptors.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.rounds.state import Round, is_open
from headgate.domain.scheduling.due.timers import Timers, due_at
from headgate.domain.scheduling.flavors.offers import offer_to_all
from headgate.domain.scheduling.hosts.watch import HostWatch
from headgate.domain.scheduling.lines.competing import competes, keeps_room, may_wait, waiting_of
from headgate.domain.scheduling.lines.standing import (
    Obstacle,
    cluster_queue_obstacle,
    effective_spec,
)
from headgate.domain.scheduling.ordering.pending import PendingQueue, Ranks, Waiting, alike
from headgate.domain.scheduling.partition.claimed import (
    claims,
    is_moved,
    is_reclaimed,
    takes_the_same,
)
from headgate.domain.scheduling.partition.epochs import epoch_name
from headgate.domain.scheduling.partition.hosts import hosts_of
from headgate.domain.scheduling.partition.shields import Shields
from headgate.domain.scheduling.partition.stirring import (
    Stirred,
    is_anyone_borrowing,
    line_of,
    look_again,
    starts,
    stirred_by,
)
from headgate.domain.scheduling.placement.crowd import Crowd, Standing
from headgate.domain.scheduling.placement.ground import per_pod
from headgate.domain.scheduling.placement.hosts import (
    ACTUAL,
    PROJECTED,
    Ints,
    place_named,
)
from headgate.domain.scheduling.preemption.precedents import Precedents
from headgate.domain.scheduling.quota.tree import Amounts, QuotaTree, build_tree
from headgate.domain.scheduling.quota.usage import Usage, add_usage, no_usage, remove_usage
from headgate.domain.topology.specs import NodeSpec
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource, Requests
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.leaving import holds_quota, is_leaving
from headgate.domain.workloads.preempting import has_released_quota
from headgate.domain.workloads.protecting import protection_of
from headgate.domain.workloads.remaining import needed_admission
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.surplus import Part, is_divisible, parts_of


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What one admission takes: amounts of quota, and pods on hosts with what each pod takes.

    `is_whole` is false if some of its places are gone; pods there are charged nowhere.
    """

    cluster_queue: str
    amounts: Amounts
    pods: tuple[tuple[Ints, Ints, Requests], ...]
    is_whole: bool = True


Move = tuple[int, Callable[[int, Charge], None], Charge]
"""A view, what is done to it, and with what."""


class Partition:
    """Queues, usage and hosts that are scheduled together; see the module for its two views.

    `known_holders` is who holds most of something, by tree, until anyone's charge changes.
    `ranks` tells for a ClusterQueue how much its LocalQueues have used, since the last cycle.
    `divisible` are the parts of those who hold a place and may lose single pods.
    `leases` is when nodes fall silent; the installation's own partition looks after that alone.
    """

    def __init__(
        self,
        key: str,
        config: Config,
        cluster_queues: Iterable[str],
        set_aside: Mapping[str, str],
    ) -> None:
        self.key = key
        self.config = config
        self.set_aside = set_aside
        self.stops: list[tuple[Instant, str]] = []
        self.cluster_queues = tuple(sorted(cluster_queues))
        self.tree: QuotaTree = build_tree(config, self.cluster_queues)
        self.usage: tuple[Usage, Usage] = (no_usage(self.tree), no_usage(self.tree))
        self.specs = {name: effective_spec(config, name) for name in self.cluster_queues}
        self.offers = {name: offer_to_all(config, spec) for name, spec in self.specs.items()}
        self.obstacles: dict[str, Obstacle | None] = {
            name: cluster_queue_obstacle(config, name) for name in self.cluster_queues
        }
        self.pending = {
            name: PendingQueue(strict=_spec(config, name).queueing_strategy == "StrictFIFO")
            for name in self.cluster_queues
        }
        self._lines = [line_of(self.pending[name], self.specs[name]) for name in self.pending]
        self.holding: dict[str, dict[str, Charge]] = {name: {} for name in self.cluster_queues}
        self.divisible: dict[str, tuple[Part, ...]] = {}
        self.known_holders: dict[tuple[str, FlavorResource], tuple[str, ...]] = {}
        self.timers = Timers()
        self.leases = Timers()
        self.rounds: dict[str, Round] = {}
        self.precedents = Precedents()
        self._epochs: dict[str, str] = {}
        self.rounds_wait_until: dict[str, Instant] = {}
        self.hosts, self.topologies = hosts_of(config, self.cluster_queues)
        self.watch = HostWatch(config, self.hosts)
        self.ranks: Callable[[str], Ranks] = lambda _: alike
        self.shields = Shields(config, self.tree.path)
        self._crowd = Crowd(self.hosts)
        self._stirred: dict[str, Workload | None] = {}
        self.version = 0
        self.stirs = 0

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Take into account that a workload of this partition came, changed or went.

        Everything that could fail is worked out before anything is changed.
        """
        found = new or old
        assert found is not None, "something must have been or be there"
        counts = new is not None and not self._is_aside(new)
        due = due_at(self.config, new) if counts and new is not None else None
        waits = self._waiting(new) if counts and new is not None else None
        if not takes_the_same(old, new):
            self._recharge(old, new)
        elif starts(old, new):
            self.shields.replace(found.key, new)
        if waits is not None or may_wait(old):
            self._requeue(found.key, (old, new), waits)
        host_due = self.watch.replace(old, new)
        self.timers.set(found.key, _earlier(due, host_due) if counts else None)

    def replace_round(self, old: Round | None, new: Round | None) -> None:
        """Take into account that a round began, went on or ended."""
        if old is not None:
            self.rounds.pop(old.id, None)
        if new is None and old is not None:
            self.precedents.remove(old)
        if new is not None:
            self.precedents.put(new)
        if new is not None and is_open(new):
            self.rounds[new.id] = new

    def epoch_of(self, cluster_queue: str) -> str:
        """The name of the policies and quotas that the ClusterQueue's tree stands under."""
        root = self.tree.root_of(f"clusterqueue/{cluster_queue}")
        if root not in self._epochs:
            self._epochs[root] = epoch_name(self.config, self.tree, root)
        return self._epochs[root]

    def node_changed(self, node: Configured[NodeSpec]) -> None:
        """Take a report or cordon of a node into account."""
        self.version += 1
        self.unpark(Stirred.EVERYONE if self.hosts.node_changed(node) else Stirred.ALERT)
        self.watch.may_be_too_small = True
        for workload, host_due in self.watch.on_node(node):
            due = (
                None
                if self._is_aside(workload)
                else _earlier(due_at(self.config, workload), host_due)
            )
            self.timers.set(workload.key, due)

    def unpark(self, stirred: Stirred = Stirred.EVERYONE) -> None:
        """Look again at those of the stirred who were known not to fit.

        Who may break an open round is alert as well: the stronger do that only for their own.
        """
        self.stirs += 1
        rounds = self.rounds.values()
        weakest = min(r.preemptor_priority for r in rounds) if rounds else None
        look_again(self._lines, stirred, weakest)
        if stirred >= Stirred.PREEMPTORS:
            self.watch.look_again()

    def charge_of(self, workload: Workload, admission: Admission) -> Charge:
        """What an admission of this workload takes.

        Pods that have ended take no quota. Their hosts are told with the end of all: which of them
        have ended is not known.
        """
        amounts: Amounts = {}
        pods = []
        is_whole = True
        pod_sets = workload.spec.pod_sets
        sets = {pod_set.name: pod_set for pod_set in pod_sets}
        needed = needed_admission(admission, pod_sets, workload.reclaimable)
        for given in needed.pod_set_assignments:
            for resource, amount in given.resource_usage.items():
                key = (given.flavors.get(resource, ""), resource)
                if amount and not has_released_quota(workload):
                    amounts[key] = amounts.get(key, 0) + amount
            pod_set = sets.get(given.name)
            if given.topology_assignment is not None and pod_set is not None:
                domains = given.topology_assignment.domains
                levels = given.topology_assignment.levels
                flavor = next((f for f in given.flavors.values() if f in self.topologies), "")
                rows, counts = self.hosts.rows(
                    (place_named(flavor, levels, d.values), d.count) for d in domains
                )
                is_whole = is_whole and len(rows) == len(domains)
                pods.append((rows, counts, per_pod(pod_set)))
        return Charge(admission.cluster_queue, amounts, tuple(pods), is_whole)

    def take(self, view: int, charge: Charge) -> None:
        """Charge usage and hosts of one view."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self.tree.path:
            add_usage(self.tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self.hosts.take(view, rows, counts, requests)
        self.version += 1

    def give_back(self, view: int, charge: Charge) -> None:
        """The exact opposite of `take`."""
        node = f"clusterqueue/{charge.cluster_queue}"
        if node in self.tree.path:
            remove_usage(self.tree, self.usage[view], node, charge.amounts)
        for rows, counts, requests in charge.pods:
            self.hosts.take(view, rows, -counts, requests)
        self.version += 1

    def crowd(self) -> Crowd:
        """Everyone who holds a place and is not leaving, as arrays."""
        for key, workload in self._stirred.items():
            if workload is None or not holds_quota(workload) or is_leaving(workload):
                self._crowd.drop(key)
            else:
                self._crowd.put(key, *self._standings(workload))
        self._stirred.clear()
        return self._crowd

    def _standings(self, workload: Workload) -> Iterator[Standing]:
        protection = protection_of(workload.spec)
        is_preemptible = workload.spec.preemptibility == "Preemptible"
        parts = self.divisible.get(workload.key)
        if parts is None:
            charge = self.held_by(workload)
            yield Standing(charge.cluster_queue, protection, is_preemptible, charge.pods)
            return
        for part in parts:
            charge = self.charge_of(workload, part.admission)
            may_go = is_preemptible or not part.is_rest
            name = "" if part.is_rest else part.name
            yield Standing(charge.cluster_queue, protection, may_go, charge.pods, name)

    def competes(self, workload: Workload) -> bool:
        """Whether it is to be looked at when it is its turn."""
        return not self._is_aside(workload) and competes(self.config, workload)

    def _is_aside(self, workload: Workload) -> bool:
        return bool(self.set_aside) and f"workload/{workload.key}" in self.set_aside

    def held_by(self, workload: Workload) -> Charge:
        """What a workload that holds a place takes."""
        assert workload.admission is not None, "only who was admitted holds a place"
        known = self.holding.get(workload.admission.cluster_queue, {}).get(workload.key)
        return known or self.charge_of(workload, workload.admission)

    def _recharge(self, old: Workload | None, new: Workload | None) -> None:
        moves, held = self._moves(old, new)
        for view, change, charge in moves:
            change(view, charge)
        stirred = stirred_by(old, new)
        if stirred == Stirred.ALERT and self._any_borrows(moves):
            stirred = Stirred.RECLAIMERS
        if stirred:
            self.unpark(stirred)
        self._rehold(old, new, held)

    def _any_borrows(self, moves: Iterable[Move]) -> bool:
        amounts = ((each.cluster_queue, each.amounts) for view, _, each in moves if view)
        return is_anyone_borrowing(self.tree, self.usage[PROJECTED], amounts)

    def _moves(
        self, old: Workload | None, new: Workload | None
    ) -> tuple[list[Move], Charge | None]:
        """What is given back and taken in each view, and what `new` holds afterwards."""
        before, after = claims(old), claims(new)
        reclaimed = is_reclaimed(old, new)
        held = None
        if new is not None and (given := after[ACTUAL]) is not None:
            anew = reclaimed or is_moved(old, new)
            held = self.charge_of(new, given) if anew else self._charge(new, given)
        moves: list[Move] = []
        for view in (ACTUAL, PROJECTED):
            same = before[view] is after[view] or before[view] == after[view]
            if same and not reclaimed:
                continue
            if old is not None and (given := before[view]) is not None:
                moves.append((view, self.give_back, self._charge(old, given)))
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
        self._note(old, new)
        self.known_holders.clear()
        if old is not None and old.admission is not None:
            self.holding.get(old.admission.cluster_queue, {}).pop(old.key, None)
            self.divisible.pop(old.key, None)
        if new is not None and held is not None:
            self.holding.setdefault(held.cluster_queue, {})[new.key] = held
            self._divide(new)

    def _divide(self, workload: Workload) -> None:
        if is_divisible(workload.spec) and (parts := parts_of(workload)):
            self.divisible[workload.key] = parts

    def _note(self, old: Workload | None, new: Workload | None) -> None:
        for workload in (old, new):
            if workload is not None and workload.admission is not None:
                self._stirred[workload.key] = new
                self.shields.replace(workload.key, new)

    def _waiting(self, new: Workload) -> Waiting | None:
        if not may_wait(new):
            return None
        name = self._cluster_queue_name(new)
        spec = self.specs.get(name)
        if spec is None:
            return None
        return waiting_of(self.config, new, spec, has_obstacle=self.obstacles[name] is not None)

    def _requeue(
        self, key: str, change: tuple[Workload | None, Workload | None], waits: Waiting | None
    ) -> None:
        old, new = change
        queue = self._queue_of(new)
        stays = old is not None and new is not None and old.spec is new.spec
        before = queue if stays else self._queue_of(old)
        if before is not None and (before is not queue or waits is None):
            before.remove(key)
        if before is not None and old is not None and keeps_room(self.config, old):
            before.unpark()
        if queue is None or waits is None or queue.known(key) == waits:
            return
        queue.remove(key)
        queue.add(key, waits)

    def _queue_of(self, workload: Workload | None) -> PendingQueue | None:
        return self.pending.get(self._cluster_queue_name(workload)) if workload else None

    def _cluster_queue_name(self, workload: Workload) -> str:
        local = self.config.local_queues.get(f"{workload.namespace}/{workload.spec.queue_name}")
        return local.spec.cluster_queue if local else ""


def _earlier(due: Instant | None, host_due: Instant | None) -> Instant | None:
    """When a workload is due for itself or for its hosts."""
    if due is None or host_due is None:
        return host_due if due is None else due
    return min(due, host_due)


def _spec(config: Config, cluster_queue: str) -> ClusterQueueSpec:
    return config.cluster_queues[cluster_queue].spec
