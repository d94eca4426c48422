"""Taking the place that a round keeps counts like evicting its preemptor (§6.8, trap P5)."""

from msgspec.structs import replace

from headgate.domain.rounds.state import Round, RoundVictim
from headgate.domain.scheduling.partition.eviction_graph import Epoch, EvictionGraph
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionScope, Victim
from headgate.domain.scheduling.preemption.victim_plan import victims_closing_cycle
from headgate.domain.values.message import Message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload


def workload(name: str) -> Workload:
    return Workload(
        uid=name, namespace="team", name=name, created_at=0, spec=WorkloadSpec(pod_sets=())
    )


WORKLOADS = {f"team/{name}": workload(name) for name in ("owner", "thief", "third")}
EPOCH = Epoch(WORKLOADS, "today")


def a_round(preemptor: str, victim: str, taken_by: str = "") -> Round:
    named = RoundVictim(
        workload=f"team/{victim}",
        cluster_queue="q",
        reason="InClusterQueue",
        priority=0,
        pods=1,
        freed={},
        running_seconds=0,
    )
    return Round(
        id=f"{preemptor}-{victim}",
        stage="Invalidated" if taken_by else "Draining",
        preemptor=f"team/{preemptor}",
        preemptor_priority=0,
        cluster_queue="q",
        admission=Admission(cluster_queue="q", pod_set_assignments=()),
        victims=(named,),
        considered=1,
        basis_position=0,
        committed_at=0,
        epoch="today",
        taken_by=f"team/{taken_by}" if taken_by else "",
    )


def known(*rounds: Round) -> EvictionGraph:
    eviction_graph = EvictionGraph()
    for found in rounds:
        eviction_graph.put(found)
    return eviction_graph


def refused(
    eviction_graph: EvictionGraph, preemptor: str, victim: str, scope: PreemptionScope
) -> dict[str, Message]:
    chosen = Victim(Candidate(WORKLOADS[f"team/{victim}"], "clusterqueue/q", {}), scope)
    return victims_closing_cycle(eviction_graph, EPOCH, f"team/{preemptor}", [chosen])


def test_a_preemptor_that_lost_its_capacity_does_not_evict_the_taker() -> None:
    thefts = known(a_round("owner", "third", taken_by="thief"))
    assert list(refused(thefts, "owner", "thief", "WhileBorrowing")) == ["team/thief"]


def test_owned_quota_may_still_be_reclaimed_from_the_taker() -> None:
    thefts = known(a_round("owner", "third", taken_by="thief"))
    assert refused(thefts, "owner", "thief", "Guarantee") == {}


def test_taking_capacity_from_an_indirect_preemptor_would_close_a_cycle() -> None:
    evictions = known(a_round("owner", "third"), a_round("third", "thief"))
    assert evictions.has_path(EPOCH, "team/owner", "team/thief")
    assert not evictions.has_path(EPOCH, "team/thief", "team/owner")


def test_taken_capacity_is_dropped_with_its_round() -> None:
    stolen = a_round("owner", "third", taken_by="thief")
    thefts = known(stolen)
    thefts.remove(stolen)
    assert refused(thefts, "owner", "thief", "Own") == {}


def test_a_theft_that_is_undone_leaves_nothing_behind() -> None:
    stolen = a_round("owner", "third", taken_by="thief")
    thefts = known(stolen)
    thefts.put(replace(stolen, stage="Draining", taken_by=""))
    assert not thefts.is_preemptor("team/thief")
