"""Logs that an earlier commit wrote are read, folded and recounted by the present code."""

import pytest

from headgate.application.verify.verify import History
from headgate.application.workload_filter import owner_of
from headgate.domain.cluster_state import ClusterState
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.domain.workloads.state import phase_of
from headgate.event_log.codec import decode, encode
from tests.event_log.stored_logs import recorded_events, stored_logs

LOGS = sorted(stored_logs())


@pytest.mark.parametrize("name", LOGS)
def test_every_event_of_an_earlier_commit_is_read_and_written_without_loss(name: str) -> None:
    for recorded in recorded_events(stored_logs()[name]):
        assert decode(*encode(recorded.event)) == recorded.event


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_an_earlier_commit_holds_every_audit(name: str) -> None:
    history = History()
    for recorded in recorded_events(stored_logs()[name]):
        history.read(recorded)

    # What is checked of the end alone is left out: the logs break off while workloads are pending.
    assert history.findings.found == []
    assert history.sequence.position == stored_logs()[name].head


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_an_earlier_commit_folds_to_the_phases_that_it_answered(name: str) -> None:
    log = stored_logs()[name]
    answered = log.answers["workloads"]
    cluster_state = ClusterState()
    for recorded in recorded_events(log):
        cluster_state.apply(recorded)
        expected = answered.get(str(recorded.position))
        if expected is not None:
            found = {key: phase_of(each) for key, each in cluster_state.workloads.items()}
            assert found == {key: phase for key, (phase, _) in expected.items()}

    assert cluster_state.quarantined == {}


def test_a_workload_of_an_earlier_commit_is_owned_by_its_submitter() -> None:
    owners, submitters = dict[str, str](), dict[str, str]()
    for log in stored_logs().values():
        cluster_state = ClusterState()
        for recorded in recorded_events(log):
            cluster_state.apply(recorded)
            if isinstance(recorded.event, WorkloadSubmitted):
                found = cluster_state.state_of(recorded.stream)
                owners[recorded.event.uid] = f"user:{owner_of(found)}"
                submitters[recorded.event.uid] = recorded.metadata.actor

    assert len(owners) > 50
    assert owners == submitters
