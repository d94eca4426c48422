"""Histories that become golden logs: what the logs of other tests do not go through.

`python -m tests.event_log.golden_states` records those that are new. A recorded one never changes,
whatever becomes of the rules that made it; its history here says how it came about.
"""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from headgate.domain.kinds.admission_check import (
    AdmissionCheckCreated,
    AdmissionCheckSpec,
)
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule, ClusterQueueStopped
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.executor import ExecutorCreated, OrphansDecided, OrphansReported
from headgate.domain.kinds.queue_activity import MULTI_KUEUE, PROVISIONING
from headgate.domain.kinds.webhook import NotificationQueued, WebhookCreated
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rounds.state import RoundAborted, RoundCommitted, RoundExpired, VictimReleased
from headgate.domain.starts import PredictedWait, PredictionChecked, PredictionRecorded
from headgate.domain.values.index_ranges import ranges_of
from headgate.domain.values.message import message
from headgate.domain.workloads.admission import trimmed_to
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadChecksRequired,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadImported,
    WorkloadPodsReady,
    WorkloadPodsReported,
    WorkloadQuotaReserved,
    WorkloadReleased,
    WorkloadScaledDown,
    WorkloadSubmitted,
)
from headgate.domain.workloads.pod_events import (
    FailedPods,
    ReportedPods,
    WorkloadPodsReleased,
    WorkloadRetried,
    WorkloadSessionOpened,
)
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    EvictionExtended,
    WorkloadPodsEvicted,
    WorkloadShrunk,
)
from headgate.domain.workloads.specs import PodIndex, PodSet, Scheduling, TopologyRequest
from tests.builders.world import World, quotas
from tests.event_log.samples import sample_of

ENDED_WORKLOADS = 304
"""More than a fold keeps whole."""
ENDED_ROUNDS = 1_001
DAY = 86_400
REASONS: tuple[Literal["Succeeded", "Failed", "Cancelled"], ...] = (
    "Succeeded",
    "Failed",
    "Cancelled",
)


def holds_of_every_rank(world: World) -> None:
    """A hold of a higher authority covers one of a lower one, and is released alone."""
    key = world.submit("held", "none")
    for owner in ("user:ann", "admin:root", "queue-admin:quentin", "user:ben"):
        world.record(f"workload/{key}", WorkloadHeld(owner=owner, reason="for a reason"))
    world.record(f"workload/{key}", WorkloadReleased())


def events_without_an_object(world: World) -> None:
    """Facts about what is not there change nothing."""
    world.record("workload/team/none", WorkloadPodsReady())
    world.record("round/none", VictimReleased(workload="team/none", by="Eviction"))
    world.record("clusterqueue/none", sample_of(ClusterQueueStopped))
    world.record("prediction/none", sample_of(PredictionChecked))


def a_victim_released_twice(world: World) -> None:
    """A round goes on as before where a victim is told of again."""
    committed = replace(sample_of(RoundCommitted), round_id="r")
    world.record("round/r", committed)
    for victim in (*committed.victims[:1], *committed.victims):
        world.record("round/r", VictimReleased(workload=victim.workload, by="Eviction"))


def causes_told_to_a_webhook(world: World) -> None:
    """A cause opens and closes, and a test is sent."""
    world.record("webhook/w", sample_of(WebhookCreated))
    for change, key in (("Opened", "a"), ("Opened", "b"), ("Resolved", "a"), ("Test", "")):
        queued = NotificationQueued(id=f"{change}-{key}", change=change, key=key, count=2)  # type: ignore[arg-type]
        world.record("webhook/w", queued)


def a_decision_on_orphans(world: World) -> None:
    """An administrator kills one of the orphaned pods of an executor."""
    world.record("executor/e", sample_of(ExecutorCreated))
    reported = sample_of(OrphansReported)
    world.record("executor/e", reported)
    first = reported.appeared[0].id
    world.record("executor/e", OrphansDecided(pods=(first,), decision="Kill"))


def checks_that_contradict_each_other(world: World) -> None:
    """A ClusterQueue with two checks of MultiKueue, one of a flavor, and one that provisions."""
    world.flavor("plain")
    for name, controller in (("m1", MULTI_KUEUE), ("m2", MULTI_KUEUE), ("p", PROVISIONING)):
        spec = AdmissionCheckSpec(controller_name=controller)
        created = AdmissionCheckCreated(uid=name, name=name, spec=spec)
        world.record(f"admissioncheck/{name}", created)
    rules = (
        AdmissionCheckRule(name="m1"),
        AdmissionCheckRule(name="m2", on_flavors=("plain",)),
        AdmissionCheckRule(name="p"),
    )
    world.cluster_queue("cq", quotas(plain=4), admission_checks=rules)
    world.change_cluster_queue("cq", admission_checks=())


def usage_under_changing_rules(world: World) -> None:
    """Usage counts from the admission, then from the reservation, then not, then again."""
    world.flavor("plain")
    world.admission_check("budget")
    checks = (AdmissionCheckRule(name="budget"),)
    world.cluster_queue("cq", quotas(plain=8), admission_checks=checks)
    world.configure(admission_fair_sharing=AdmissionFairSharing(usage_half_life_seconds=60))
    for number in range(3):
        world.submit(f"w{number}", "cq", {"gpu": 2})
    world.cycle()
    world.check("team/w0", "budget", "Ready")
    world.wait(30)
    for anchor in ("QuotaReserved", "Admitted", None, "Admitted", "QuotaReserved"):
        rules = anchor and AdmissionFairSharing(usage_half_life_seconds=60, usage_anchor=anchor)
        world.configure(admission_fair_sharing=rules)
        world.wait(10)
    world.check("team/w1", "budget", "Ready")
    world.submit("w4", "cq", {"gpu": 1})
    world.cycle()
    world.finish("team/w1")
    rules = AdmissionFairSharing(usage_half_life_seconds=60)
    world.configure(admission_fair_sharing=rules)
    world.finish("team/w4")
    world.submit("w5", "cq", {"gpu": 1})
    world.cycle()
    world.record("workload/team/w5", WorkloadDeleted())


def starts_under_a_prediction(world: World) -> None:
    """First starts are counted for a prediction of their ClusterQueue, later ones are not."""
    world.flavor("plain")
    world.cluster_queue("cq", quotas(plain=8))
    waits = PredictedWait(cluster_queue="cq", generation=1, p95_seconds=5, limit_seconds=5)
    other = replace(waits, cluster_queue="other")
    recorded = PredictionRecorded(backtest="b", due_at=world.at + 10**9, waits=(waits, other))
    world.record("prediction/b", recorded)
    for name, seconds in (("soon", 1), ("late", 30)):
        world.submit(name, "cq")
        world.wait(seconds)
        world.cycle()
    evicted = replace(sample_of(WorkloadEvicted), eviction="e", soft=None, requeue_at=None)
    world.record("workload/team/soon", evicted)
    world.stop("team/soon")
    world.cycle()


def an_eviction_cancelled_after_checks(world: World) -> None:
    """The checks of a workload are Ready again once its eviction is cancelled."""
    key = world.submit("w", "cq")
    stream = f"workload/{key}"
    reserved = sample_of(WorkloadQuotaReserved)
    required = WorkloadChecksRequired(checks=("budget", "capacity"))
    evicted = replace(sample_of(WorkloadEvicted), eviction="e", soft=None)
    cancelled = EvictionCancelled(eviction="e", cause=message("AllPodsScheduled"))
    events: tuple[DomainEvent, ...] = (reserved, required, sample_of(WorkloadAdmitted), evicted)
    for event in (*events, cancelled):
        world.record(stream, event)
    for event in (evicted, sample_of(EvictionExtended), WorkloadPodsReady(), cancelled):
        world.record(stream, event)


def a_scaled_down_job_with_indices_that_come_again(world: World) -> None:
    """The owner takes pods off a job of completions while it runs, and of one without."""
    world.hosts({"b1/r1/h1": 2, "b1/r1/h2": 8})
    world.cluster_queue("cq", quotas("cpu", tas=20))
    sets = {"job": 6, "gang": None}
    for name, completions in sets.items():
        pod_set = PodSet(
            count=4,
            completions=completions,
            scheduling=Scheduling(requests={"cpu": 1}),
            topology_request=TopologyRequest(unconstrained=True),
        )
        world.submit_pod_sets(name, "cq", pod_set)
        world.cycle()
        admission = world[f"team/{name}"].admission
        assert admission is not None
        (given,) = admission.pod_set_assignments
        assert given.topology_assignment is not None
        fewer = replace(
            given, count=2, topology_assignment=trimmed_to(given.topology_assignment, 2)
        )
        scaled = replace(admission, pod_set_assignments=(fewer,))
        failed = FailedPods(
            pod_set="main", indices=ranges_of((0, 3)), run=1, reason="Error", retry_at=world.at + 1
        )
        retried = WorkloadRetried(action="RetryPod", retries=1, pods=(failed,))
        world.record(f"workload/team/{name}", retried)
        for next_runs in (True, False):
            event = WorkloadScaledDown(admission=scaled, next_runs=next_runs)
            world.record(f"workload/team/{name}", event)
        later = replace(failed, indices=ranges_of((0, 1)))
        world.record(f"workload/team/{name}", replace(retried, pods=(later,)))
        released = WorkloadPodsReleased(pods={"main": ranges_of((1,))})
        world.record(f"workload/team/{name}", released)


def completions_of_replicas(world: World) -> None:
    """Two Jobs of three completions each run two at a time, and one is placed a second time."""
    world.hosts({"b1/r1/h1": 4, "b1/r1/h2": 4})
    world.cluster_queue("cq", quotas("cpu", tas=8))
    pod_set = PodSet(
        count=4,
        completions=6,
        scheduling=Scheduling(requests={"cpu": 1}),
        topology_request=TopologyRequest(unconstrained=True),
        pod_index=PodIndex(label="index", sub_group_label="job", sub_group_count=2),
    )
    world.submit_pod_sets("jobs", "cq", pod_set)
    world.cycle()
    world.record("workload/team/jobs", sample_of(WorkloadAdmitted))
    for index in (4, 0, 1, 3):
        ended = ReportedPods(
            pod_set="main",
            indices=((index, index),),
            run=1,
            node="",
            type="finished",
            reason="Completed",
        )
        reported = replace(sample_of(WorkloadPodsReported), attempt=1, pods=(ended,))
        world.record("workload/team/jobs", reported)


def single_pods_evicted_by_index(world: World) -> None:
    """A round evicts the first pods of a workload, on the host that its preemptor needs."""
    world.hosts({"b1/r1/h1": 2, "b1/r1/h2": 2})
    world.cluster_queue("cq", quotas("cpu", tas=4))
    everywhere = TopologyRequest(unconstrained=True)
    key = world.submit("w", "cq", {"cpu": 1}, count=4, topology=everywhere)
    world.cycle()
    admission = world[key].admission
    assert admission is not None
    (given,) = admission.pod_set_assignments
    assert given.topology_assignment is not None
    left = {"main": given.topology_assignment.domains[:1]}
    pods, indices = {"main": 2}, {"main": ranges_of((0, 1))}
    evicted = WorkloadPodsEvicted(
        eviction="r",
        underlying_cause="InClusterQueue",
        message=message("AllPodsScheduled"),
        pods=pods,
        counts=pods,
        indices=indices,
    )
    world.record(f"workload/{key}", evicted)
    shrunk = WorkloadShrunk(eviction="r", pods=pods, counts=pods, indices=indices, domains=left)
    world.record(f"workload/{key}", shrunk)


def more_ended_workloads_than_stay_whole(world: World) -> None:
    """The first have left the fold when a session is recorded, and one of them is deleted."""
    for number in range(ENDED_WORKLOADS):
        key = world.submit(f"w{number}", "none")
        reason = REASONS[number % len(REASONS)]
        world.record(f"workload/{key}", WorkloadFinished(reason=reason, message="over"))
    world.record("workload/team/w0", sample_of(WorkloadSessionOpened))
    world.submit("later", "none")
    for name in ("w0", "w1", f"w{ENDED_WORKLOADS - 1}"):
        world.record(f"workload/team/{name}", WorkloadDeleted())


def ended_workloads_that_are_deleted(world: World) -> None:
    """Deletions tell how workloads had ended; failures are kept for a day, in the order of ends."""
    for name, reason in zip(("w2", "w1", "w0"), (REASONS[1], REASONS[1], REASONS[0]), strict=True):
        key = world.submit(name, "none")
        world.record(f"workload/{key}", WorkloadFinished(reason=reason, message="over"))
    for name in ("w0", "w1"):
        world.record(f"workload/team/{name}", world.deletion(f"team/{name}"))
    world.wait(DAY + 1)
    for name in ("later", "asked"):
        key = world.submit(name, "none")
        world.record(f"workload/{key}", WorkloadFinished(reason="Failed", message="over"))
    world.record("workload/team/asked", WorkloadDeletionRequested())
    world.record("workload/team/asked", WorkloadDeleted())
    for name in ("w2", "later"):
        world.record(f"workload/team/{name}", world.deletion(f"team/{name}"))
    world.record("workload/team/never", WorkloadDeleted())


def an_ended_preemptor_and_its_round(world: World) -> None:
    """A workload that an open round names stays in the fold until the round has ended."""
    key = world.submit("other", "none")
    world.submit("preemptor", "none")
    committed = replace(
        sample_of(RoundCommitted), round_id="r", preemptor="team/preemptor", victims=()
    )
    world.record("round/r", committed)
    for name in ("preemptor", "other"):
        world.record(f"workload/team/{name}", WorkloadFinished(reason="Cancelled"))
    world.record("round/r", RoundAborted(cause=message("PreemptorFinished", preemptor=key)))


def more_ended_rounds_than_are_kept(world: World) -> None:
    """The oldest ended rounds leave the fold."""
    for number in range(ENDED_ROUNDS):
        committed = replace(sample_of(RoundCommitted), round_id=f"r{number}", victims=())
        world.record(f"round/r{number}", committed)
        world.record(f"round/r{number}", RoundExpired(stalled=()))


def an_import_of_a_workload_that_ran(world: World) -> None:
    """A workload comes from another queue manager, with the owner that the import names."""
    submitted = sample_of(WorkloadSubmitted)
    world.record("workload/team/i", replace(submitted, namespace="team", name="i", owner=None))
    world.record("workload/team/i", sample_of(WorkloadImported))


HISTORIES: tuple[Callable[[World], None], ...] = (
    holds_of_every_rank,
    events_without_an_object,
    a_victim_released_twice,
    causes_told_to_a_webhook,
    a_decision_on_orphans,
    checks_that_contradict_each_other,
    usage_under_changing_rules,
    starts_under_a_prediction,
    an_eviction_cancelled_after_checks,
    a_scaled_down_job_with_indices_that_come_again,
    completions_of_replicas,
    single_pods_evicted_by_index,
    more_ended_workloads_than_stay_whole,
    ended_workloads_that_are_deleted,
    an_ended_preemptor_and_its_round,
    more_ended_rounds_than_are_kept,
    an_import_of_a_workload_that_ran,
)
