"""Reconciliation, journal and core: what follows from assignments, runs and answers."""

import errno
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from headgate.executor.assignments import (
    SUBMITTED_AS,
    AssignedPod,
    AssignedPodSet,
    Assignment,
    DesiredRun,
    Order,
    PodEviction,
    PodIndexLabels,
    PodIndices,
    Rendezvous,
    desired_runs,
    seconds_to_relist,
)
from headgate.executor.core import ExecutorCore, RunAnswer
from headgate.executor.journal import Journal
from headgate.executor.reconcile import (
    Action,
    Forget,
    Kill,
    ReportType,
    RunRecord,
    RunReport,
    Signal,
    Start,
    Tell,
    plan_actions,
    report_of,
)
from headgate.executor.substrate import ObservedRun, RunEnd, RunKey, RunState
from headgate.executor.substrates.agent.host import AgentHost
from tests.executors.pods import (
    LOG,
    assignment_of,
    core_of,
    ended,
    eventually,
    host_of,
    key_of,
    shell,
    template_of,
)

TEMPLATE = template_of("sleep", "300")
Runs = dict[str, ObservedRun]
EVICTION = Order(id="e1", reason="Preempted")


def desired(*assignments: Assignment) -> dict[str, DesiredRun]:
    return desired_runs(assignments, log_id=LOG, max_output_bytes=1 << 20)


def seen(key: RunKey, state: RunState = "Running", end: RunEnd | None = None) -> Runs:
    run = ObservedRun(key=key, log_id=LOG, state=state, started_at=1_000_000, end=end)
    return {key.name: run}


def recorded(key: RunKey, *types: ReportType, answered: bool = True) -> dict[str, RunRecord]:
    return {key.name: RunRecord(key=key, reported=frozenset(types), is_answered=answered)}


def told(actions: Iterable[Action]) -> list[str]:
    return [action.report.type for action in actions if isinstance(action, Tell)]


COMPLETED = RunEnd(reason="Completed", finished_at=2_000_000, exit_code=0)
EVICTED = RunEnd(reason="Evicted", finished_at=2_000_000, signal=15)


def test_an_assigned_run_is_started_once() -> None:
    wanted = desired(assignment_of(TEMPLATE))
    (start,) = plan_actions(wanted, {}, {})
    assert isinstance(start, Start)
    assert list(plan_actions(wanted, seen(key_of(), "Starting"), {})) == []


def test_a_run_that_another_process_has_started_is_lost_and_not_started_again() -> None:
    assigned = assignment_of(TEMPLATE)
    (pods,) = assigned.pod_sets
    (pod,) = pods.pods
    started = (msgspec.structs.replace(pod, started=True),)
    wanted = desired(
        msgspec.structs.replace(assigned, pod_sets=(msgspec.structs.replace(pods, pods=started),))
    )
    (tell,) = plan_actions(wanted, {}, {})
    assert isinstance(tell, Tell)
    assert (tell.report.type, tell.report.reason) == ("finished", "NodeLost")
    running = told(plan_actions(wanted, seen(key_of()), {}))
    assert running == ["started", "ready"]


def test_a_gang_is_started_once_it_has_a_rendezvous_port() -> None:
    portless = Rendezvous(host="host-1", port=0)
    gang = desired(assignment_of(TEMPLATE, pods=2, rendezvous=portless))
    assert list(plan_actions(gang, {}, {})) == []
    assert seconds_to_relist([{"rendezvous": {"host": "host-1", "port": 0}}]) == 5
    for pods, port in ((2, 20_001), (1, 0)):
        meeting = Rendezvous(host="host-1", port=port)
        wanted = desired(assignment_of(TEMPLATE, pods=pods, rendezvous=meeting))
        starts = [isinstance(each, Start) for each in plan_actions(wanted, {}, {})]
        assert starts == [True] * pods
    assert seconds_to_relist([{"rendezvous": {"host": "host-1", "port": 1}}, {}]) == 60


def test_a_run_is_not_started_again_once_its_end_was_reported() -> None:
    wanted = desired(assignment_of(TEMPLATE))
    assert list(plan_actions(wanted, {}, recorded(key_of(), "finished", answered=False))) == []


def test_a_run_that_had_started_and_left_no_trace_is_lost() -> None:
    wanted = desired(assignment_of(TEMPLATE))
    (tell,) = plan_actions(wanted, {}, recorded(key_of(), "started", "ready"))
    assert isinstance(tell, Tell)
    assert (tell.report.type, tell.report.reason) == ("finished", "NodeLost")


def test_a_running_pod_is_reported_started_and_ready() -> None:
    wanted = desired(assignment_of(TEMPLATE))
    assert told(plan_actions(wanted, seen(key_of()), {})) == ["started", "ready"]
    reported = recorded(key_of(), "started", "ready")
    assert list(plan_actions(wanted, seen(key_of()), reported)) == []


def test_a_run_of_an_earlier_attempt_is_killed_before_its_pod_starts_again() -> None:
    wanted = desired(assignment_of(TEMPLATE, attempt=2))
    (kill,) = plan_actions(wanted, seen(key_of()), {})
    assert kill == Kill(key_of())
    gone = seen(key_of(), "Ended", EVICTED)
    assert any(isinstance(each, Start) for each in plan_actions(wanted, gone, {}))


def test_a_run_before_the_assigned_one_is_killed() -> None:
    wanted = desired(assignment_of(TEMPLATE, run=2))
    assert list(plan_actions(wanted, seen(key_of()), {})) == [Kill(key_of())]


def test_an_evicted_pod_that_never_started_is_stopped() -> None:
    wanted = desired(assignment_of(TEMPLATE, eviction=EVICTION))
    assert told(plan_actions(wanted, {}, {})) == ["stopped"]


def test_an_evicted_pod_is_signalled_and_stops_only_once_it_has_ended() -> None:
    wanted = desired(assignment_of(TEMPLATE, eviction=EVICTION))
    reported = recorded(key_of(), "started", "ready")
    (signal,) = plan_actions(wanted, seen(key_of()), reported)
    assert isinstance(signal, Signal)
    assert (signal.order.reason, signal.order.attempt) == ("Preempted", 1)
    gone = seen(key_of(), "Ended", EVICTED)
    assert told(plan_actions(wanted, gone, reported)) == ["stopped"]


def test_a_pod_that_completes_while_it_is_evicted_has_finished() -> None:
    wanted = desired(assignment_of(TEMPLATE, eviction=EVICTION))
    assert told(plan_actions(wanted, seen(key_of(), "Ended", COMPLETED), {})) == ["finished"]


def test_only_the_pods_of_a_pod_eviction_are_signalled() -> None:
    pods = (PodIndices(pod_set="main", indices="1,3-4"),)
    given = assignment_of(
        TEMPLATE, pods=5, pod_evictions=(PodEviction(id="e2", reason="Preempted", pods=pods),)
    )
    ordered = [each.plan.key.index for each in desired(given).values() if each.order is not None]
    assert ordered == [1, 3, 4]


def test_a_run_that_is_no_longer_assigned_is_told_to_stop() -> None:
    (signal,) = plan_actions({}, seen(key_of()), {})
    assert isinstance(signal, Signal)


def test_an_ended_run_is_forgotten_once_its_end_was_answered() -> None:
    gone = seen(key_of(), "Ended", COMPLETED)
    assert told(plan_actions({}, gone, {})) == ["finished"]
    assert list(plan_actions({}, gone, recorded(key_of(), "finished", answered=False))) == []
    assert list(plan_actions({}, gone, recorded(key_of(), "finished"))) == [Forget(key_of())]


def test_the_environment_gives_ranks_and_the_rendezvous() -> None:
    (first, second) = desired(assignment_of(TEMPLATE, pods=2)).values()
    assert first.plan.environment["HEADGATE_RENDEZVOUS"] == "host-1:20001"
    assert (second.plan.environment["RANK"], second.plan.environment["WORLD_SIZE"]) == ("1", "2")


def test_pods_that_come_one_after_another_have_no_world_size() -> None:
    (only,) = desired(assignment_of(TEMPLATE, world_size=None)).values()
    assert "WORLD_SIZE" not in only.plan.environment
    assert only.plan.environment["RANK"] == "0"


def labels_and_index(**assigned: Any) -> tuple[dict[str, str], str]:
    (only,) = desired(assignment_of(TEMPLATE, **assigned)).values()
    metadata = only.plan.template.get("metadata", {})
    assert metadata.get("labels", {}) == metadata.get("annotations", {})
    return metadata.get("labels", {}), only.plan.environment["JOB_COMPLETION_INDEX"]


def test_pods_of_a_job_have_the_labels_and_the_index_that_kubernetes_gives_them() -> None:
    """A JobSet of replicas with three indices each: index 7 is the second of the third Job."""
    index, job = "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-index"
    pods = (AssignedPod(index=7, rank=7, run=1, node="host-1"),)
    of_job = AssignedPodSet(
        name="w", template=TEMPLATE, pods=pods, pod_index=PodIndexLabels(label=index)
    )
    numbered = PodIndexLabels(label=index, sub_group_label=job, sub_group_size=3)
    of_set = replace(of_job, pod_index=numbered)
    names = dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), "train")
    assert labels_and_index(pod_sets=(of_job,), annotations={SUBMITTED_AS: "batch/v1 Job"}) == (
        {index: "7", **names}, "7",
    )  # fmt: skip
    as_set = {SUBMITTED_AS: "jobset.x-k8s.io/v1alpha2 JobSet"}
    assert labels_and_index(pod_sets=(of_set,), annotations=as_set) == (
        {
            index: "1", job: "2", "jobset.sigs.k8s.io/jobset-name": "train",
            "jobset.sigs.k8s.io/replicatedjob-name": "w", **dict.fromkeys(names, "train-w-2"),
        },
        "1",
    )  # fmt: skip
    assert labels_and_index() == ({}, "0")
    long = "team-a/" + "n" * 64
    assert labels_and_index(pod_sets=(of_job,), workload=long, annotations=as_set)[0] == {
        index: "7", "jobset.sigs.k8s.io/replicatedjob-name": "w"
    }  # fmt: skip


def test_labels_of_a_template_stay_as_they_are_written() -> None:
    own = {**TEMPLATE, "metadata": {"labels": {"index": "mine"}, "annotations": None}}
    given = assignment_of(own)
    (pod_set,) = given.pod_sets
    pod_set = replace(pod_set, pod_index=PodIndexLabels(label="index"))
    (only,) = desired(replace(given, pod_sets=(pod_set,))).values()
    metadata = only.plan.template["metadata"]
    assert metadata == {"labels": {"index": "mine"}, "annotations": {"index": "0"}}
    assert own["metadata"] == {"labels": {"index": "mine"}, "annotations": None}


def test_a_journal_gives_back_what_was_not_answered(tmp_path: Path) -> None:
    reports = [report_of(key_of(index), "started") for index in range(3)]
    journal = Journal(tmp_path / "journal")
    journal.add(reports)
    journal.answer(reports[:1])
    journal.close()
    again = Journal(tmp_path / "journal")
    assert again.unanswered(10) == reports[1:]
    assert again.unanswered(1) == reports[1:2]
    assert again.records()[key_of(0).name].is_answered
    again.close()


def test_a_journal_ignores_a_line_that_was_never_finished(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.add([report_of(key_of(), "started")])
    journal.close()
    whole = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").write_bytes(whole + whole[:20])
    again = Journal(tmp_path / "journal")
    assert [report.type for report in again.unanswered(10)] == ["started"]
    again.close()


def test_a_full_disk_loses_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal")

    def write(_descriptor: int, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        journal.add([report_of(key_of(), "started")])
        assert [report.type for report in journal.unanswered(10)] == ["started"]
        on_a_full_disk = journal.is_durable
    journal.flush()
    assert (on_a_full_disk, journal.is_durable) == (False, True)
    journal.close()
    again = Journal(tmp_path / "journal")
    assert [report.type for report in again.unanswered(10)] == ["started"]
    again.close()


def test_a_report_is_kept_once_and_dropped_with_its_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.add([report_of(key_of(), "started")])
    journal.add([report_of(key_of(), "started")])
    assert len(journal.unanswered(10)) == 1
    journal.drop([key_of()])
    assert journal.unanswered(10) == []
    assert journal.records() == {}
    journal.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[AgentHost]:
    made = host_of(tmp_path)
    yield made
    for run in list(made.observe().values()):
        made.kill(run.key)
        ended(made, run.key)
    made.close()


def reports_of(core: ExecutorCore, host: AgentHost, kind: str, count: int = 1) -> list[RunReport]:
    """Reports of a type once the core has so many."""

    def look() -> list[RunReport] | None:
        core.step()
        found = [report for report in core.unanswered(1000) if report.type == kind]
        return found if len(found) >= count else None

    return eventually(look, host)


def answered(core: ExecutorCore, reports: list[RunReport], code: str = "") -> None:
    core.take_answers([RunAnswer(report=each, accepted=not code, code=code) for each in reports])


def test_nothing_is_done_before_the_first_list(host: AgentHost, tmp_path: Path) -> None:
    core = core_of(host, tmp_path)
    core.apply_assignment(3, assignment_of(TEMPLATE))
    core.step()
    assert host.observe() == {}
    core.close()


def test_a_refused_report_is_not_sent_again(host: AgentHost, tmp_path: Path) -> None:
    said: list[str] = []
    core = core_of(host, tmp_path, said)
    core.replace_assignments(5, LOG, [assignment_of(template_of("true"))])
    found = reports_of(core, host, "finished")
    answered(core, found, "ConcurrentModifications")
    assert [each.type for each in reports_of(core, host, "finished")] == ["finished"]
    answered(core, core.unanswered(10), "StaleAttempt")
    assert core.unanswered(10) == []
    assert "StaleAttempt" in said[-1]
    core.close()


def test_an_answered_end_is_forgotten_though_the_assignment_is_still_there(
    host: AgentHost, tmp_path: Path
) -> None:
    """The list of assignments may be older than the answer: the pod must not start again."""
    core = core_of(host, tmp_path)
    given = [assignment_of(shell(f"echo x >> {tmp_path}/starts"))]
    core.replace_assignments(5, LOG, given)
    reports_of(core, host, "finished")
    answered(core, core.unanswered(10))
    core.step()
    assert host.observe() == {}
    core.replace_assignments(5, LOG, given)
    core.step()
    assert host.observe() == {}
    assert (tmp_path / "starts").read_text() == "x\n"
    core.close()


def test_a_pod_that_cannot_start_is_reported_with_the_reason(
    host: AgentHost, tmp_path: Path
) -> None:
    core = core_of(host, tmp_path)
    core.replace_assignments(5, LOG, [assignment_of(template_of("no-such-command"))])
    (report,) = reports_of(core, host, "finished")
    assert report.reason == "StartFailed"
    assert "no-such-command" in report.message
    core.close()


def test_an_orphan_that_the_log_assigns_is_adopted(host: AgentHost, tmp_path: Path) -> None:
    core = core_of(host, tmp_path)
    core.replace_assignments(9, LOG, [assignment_of(TEMPLATE)])
    reports_of(core, host, "ready")
    core.replace_assignments(4, "log-2", [assignment_of(TEMPLATE)])
    assert core.orphans == frozenset()
    ended_item = msgspec.structs.replace(assignment_of(TEMPLATE), ended=True)
    core.apply_assignment(6, ended_item)
    core.step()
    assert host.observe()[key_of().name].state != "Starting"
    ended(host, key_of())
    core.close()


def test_an_orphan_that_a_workload_adopts_is_its_run(host: AgentHost, tmp_path: Path) -> None:
    """Given an orphan, when a change assigns it, its reports go on and nothing starts again."""
    core = core_of(host, tmp_path)
    core.replace_assignments(9, LOG, [assignment_of(TEMPLATE)])
    reports_of(core, host, "ready")
    core.replace_assignments(4, "log-2", [])
    assert core.orphans == {key_of().name}
    (pod_set,) = assignment_of(TEMPLATE).pod_sets
    (pod,) = pod_set.pods
    running = msgspec.structs.replace(pod, started=True)
    adopted = msgspec.structs.replace(pod_set, pods=(running,))
    core.apply_assignment(6, msgspec.structs.replace(assignment_of(TEMPLATE), pod_sets=(adopted,)))
    assert core.orphans == frozenset()
    core.step()
    host.kill(key_of())
    (stopped,) = reports_of(core, host, "stopped")
    assert (stopped.key, stopped.signal) == (key_of(), signal.SIGKILL)
    core.close()
