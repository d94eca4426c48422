"""What holds in any history of nodes that come, fail, shrink, move and go under running gangs."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologyRules
from headgate.domain.nodes.state import (
    NodeChanged,
    NodeCordoned,
    NodeDeleted,
    NodeDrainStarted,
    NodeReported,
    NodeUncordoned,
)
from headgate.domain.scheduling.lifecycle.host_watch import host_failures
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PODS
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.commands import ReportPodsGone
from headgate.domain.workloads.events import WorkloadPlaced
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import SliceLayer, TopologyRequest
from headgate.domain.workloads.state import Workload, is_admitted, phase_of
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples
from tests.properties.state_digest import state_digest_text

HOSTS = {"h1": "b1/r1", "h2": "b1/r1", "h3": "b1/r2", "h4": "b2/r3", "h5": "b2/r3", "h6": "b2/r4"}
RACKS = ("b1/r1", "b1/r2", "b2/r3")
REQUESTS = (
    TopologyRequest(required="rack"),
    TopologyRequest(required="block"),
    TopologyRequest(preferred="rack"),
    TopologyRequest(required=HOSTNAME_LABEL),
    TopologyRequest(unconstrained=True),
    TopologyRequest(required="block", slice_layers=(SliceLayer(level="rack", size=2),)),
    TopologyRequest(slice_layers=(SliceLayer(level=HOSTNAME_LABEL, size=2),)),
)
NAMES = st.sampled_from(sorted(HOSTS))


class NodeChanges(RuleBasedStateMachine):
    """One topology of six hosts, one queue on it, and everything that can happen to a host."""

    @initialize(fail_fast=st.booleans(), not_ready_seconds=st.sampled_from([0, 30, None]))
    def install(self, fail_fast: bool, not_ready_seconds: int | None) -> None:
        self.world = world = World()
        self.submitted = 0
        world.topology()
        world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
        for name, place in HOSTS.items():
            world.node(f"{place}/{name}", allocatable={"gpu": 4, "pods": 9})
        rules = TopologyRules(fail_fast=fail_fast, not_ready_seconds=not_ready_seconds)
        world.configure(topology=rules)
        lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
        world.cluster_queue("q", quotas(tas=40), preemption=lower)

    @rule(
        pods=st.sampled_from([1, 2, 2, 4, 6]),
        gpus=st.integers(1, 3),
        priority=st.integers(0, 2),
        topology=st.sampled_from(REQUESTS),
    )
    def submit(self, pods: int, gpus: int, priority: int, topology: TopologyRequest) -> None:
        self.submitted += 1
        count = pods + pods % 2 if topology.slice_layers else pods
        key = self.world.submit(
            f"w{self.submitted}", "q", {"gpu": gpus},
            count=count, priority=priority, topology=topology,
        )  # fmt: skip
        self.settle()
        if is_admitted(self.world[key]):
            self.world.ready(key)

    @rule(pick=st.integers(0, 99))
    def end(self, pick: int) -> None:
        held = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if has_quota_reservation(w)
        ]
        if held:
            key = held[pick % len(held)]
            leaving = phase_of(self.world[key]) == "Evicting"
            (self.world.stop if leaving else self.world.finish)(key)
            self.settle()

    @rule(pick=st.integers(0, 99), name=NAMES)
    def lose_pods(self, pick: int, name: str) -> None:
        running = [
            k
            for k, w in sorted(self.world.cluster_state.workloads.items())
            if is_admitted(w) and w.finished_at is None and name in self.world.placed(k)
        ]
        if running:
            key = running[pick % len(running)]
            known = self.world[key]
            report = ReportPodsGone(uid=known.uid, attempt=known.attempt, hosts=(name,))
            self.world.tell(key, report)
            self.settle()

    @rule(name=NAMES, gpus=st.integers(0, 6), others=st.integers(0, 2), ready=st.booleans())
    def report(self, name: str, gpus: int, others: int, ready: bool) -> None:
        if name in self.world.cluster_state.config.nodes:
            reported = NodeReported(
                ready=ready,
                allocatable={"gpu": gpus, "pods": 9},
                used_by_others={"gpu": others, "pods": others},
            )
            self.world.record(f"node/{name}", reported)
            self.settle()

    @rule(name=NAMES, event=st.sampled_from([NodeCordoned, NodeDrainStarted, NodeUncordoned]))
    def order(self, name: str, event: Any) -> None:
        if name in self.world.cluster_state.config.nodes:
            self.world.record(f"node/{name}", event())
            self.settle()

    @rule(name=NAMES, effect=st.sampled_from([None, "NoSchedule", "NoExecute"]))
    def taint(self, name: str, effect: Any) -> None:
        node = self.world.cluster_state.config.nodes.get(name)
        if node is not None:
            taints = (Taint(key="t", effect=effect),) if effect else ()
            changed = NodeChanged(labels=node.labels, spec=replace(node.spec, taints=taints))
            self.world.record(f"node/{name}", changed)
            self.settle()

    @rule(name=NAMES, place=st.sampled_from(RACKS), pool=st.sampled_from(["gpu", "gpu", "x"]))
    def relabel(self, name: str, place: str, pool: str) -> None:
        node = self.world.cluster_state.config.nodes.get(name)
        if node is not None:
            block, rack = place.split("/")
            labels = {**node.labels, "block": block, "rack": rack, "pool": pool}
            self.world.record(f"node/{name}", NodeChanged(labels=labels, spec=node.spec))
            self.settle()

    @rule(name=NAMES)
    def remove_or_add(self, name: str) -> None:
        if name in self.world.cluster_state.config.nodes:
            self.world.record(f"node/{name}", NodeDeleted())
        else:
            self.world.node(f"{HOSTS[name]}/{name}", allocatable={"gpu": 4, "pods": 9})
        self.settle()

    @rule(seconds=st.integers(1, 60))
    def time_passes(self, seconds: int) -> None:
        self.world.wait(seconds)
        self.settle()

    def settle(self) -> None:
        for stream, event in self.world.settle():
            if isinstance(event, WorkloadPlaced):
                self._moved_pods_stay_in_their_domain(stream.removeprefix("workload/"), event)

    def _moved_pods_stay_in_their_domain(self, key: str, event: WorkloadPlaced) -> None:
        """Those that stay may have been moved apart with their hosts; none are placed apart."""
        request = self.world[key].spec.pod_sets[0].topology_request
        if request is None or request.required is None:
            return
        (given,) = event.admission.pod_set_assignments
        assert given.topology_assignment is not None
        homes = {
            self._home(domain.values[-1], request.required)
            for domain in given.topology_assignment.domains
        }
        assert len(homes) <= 1 or self._were_moved(), f"{key} is spread over {homes}"

    def _home(self, host: str, level: str) -> tuple[str, ...]:
        labels = self.world.cluster_state.config.nodes[host].labels
        path = (labels["block"], labels["rack"], host)
        return path[: ("block", "rack", HOSTNAME_LABEL).index(level) + 1]

    def _were_moved(self) -> bool:
        """Whether a host stands elsewhere than at first."""
        return any(
            f"{node.labels['block']}/{node.labels['rack']}" != HOSTS[name]
            for name, node in self.world.cluster_state.config.nodes.items()
        )

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def every_pod_has_one_place(self) -> None:
        for key, workload in self._holders().items():
            pods = sum(given.count for given in workload.admission.pod_set_assignments)
            assert sum(self.world.placed(key).values()) == pods, f"{key} has a pod too many or few"

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def no_host_holds_more_than_it_has_for_those_that_stay(self) -> None:
        nodes = self.world.cluster_state.config.nodes
        held: dict[tuple[str, str], int] = {}
        for key, workload in self._holders().items():
            if workload.eviction is None:
                requests = {PODS: 1, **workload.spec.pod_sets[0].scheduling.requests}
                for host, pods in self.world.placed(key).items():
                    for resource, amount in requests.items():
                        if host not in workload.unhealthy_nodes:
                            place = (host, resource)
                            held[place] = held.get(place, 0) + amount * pods
        for (host, resource), amount in held.items():
            has = nodes[host].spec.allocatable.get(resource, 0)
            assert amount <= has, f"{host} holds {amount} {resource} of {has}"

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def every_workload_on_a_lost_host_seeks_another(self) -> None:
        cluster_state, partition = self.world.cluster_state, self._partition()
        for key, workload in self._holders().items():
            if workload.eviction is not None:
                continue
            for host, trouble in host_failures(
                cluster_state.config, partition.hosts, workload
            ).items():
                is_lost = trouble.due <= self.world.at
                assert not is_lost or host in workload.unhealthy_nodes, f"{key} on lost {host}"

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def indices_are_as_if_built_anew(self) -> None:
        cluster_state = self.world.cluster_state
        assert not cluster_state.quarantined, cluster_state.quarantined
        assert state_digest_text(ClusterState.load(cluster_state.dump())) == state_digest_text(
            cluster_state
        )

    def _partition(self) -> Partition:
        cluster_state = self.world.cluster_state
        return cluster_state.partition(cluster_state.partition_index.of_cluster_queue["q"])

    def _holders(self) -> dict[str, Any]:
        workloads: dict[str, Workload] = self.world.cluster_state.workloads
        return {key: w for key, w in sorted(workloads.items()) if has_quota_reservation(w)}


TestNodeChanges = pytest.mark.slow(NodeChanges.TestCase)
TestNodeChanges.settings = settings(
    max_examples=examples(400, quick=15),
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
