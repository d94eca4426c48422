"""Hosts of a replay that fail and return, and what became of the workloads on them."""

import json
from pathlib import Path

import pytest

from headgate.cli.failures import CommandFailed
from headgate.cli.replay.arrivals import ReplayInput
from headgate.cli.replay.openb import openb_replay, read_hosts, read_pods
from headgate.cli.replay.outages import Outage, OutageResults, planned_outages
from headgate.cli.replay.scenario import read_scenario, scenario_replay
from headgate.client.schemas import Event
from tests.cli.test_replay import HOSTS, PODS, SCENARIO

SECOND = 1_000_000
Fact = tuple[str, str, int, dict[str, object]]


@pytest.fixture
def play(tmp_path: Path) -> ReplayInput:
    (tmp_path / "hosts.csv").write_text(HOSTS)
    (tmp_path / "pods.csv").write_text(PODS)
    return openb_replay(read_hosts(tmp_path / "hosts.csv"), read_pods(tmp_path / "pods.csv"), "r")


def test_seeded_outages_are_the_same_every_time_and_within_the_trace(play: ReplayInput) -> None:
    found = planned_outages(play, "20", 30, 7)
    assert found == planned_outages(play, "20", 30, 7)
    assert found != planned_outages(play, "20", 30, 8)
    assert len(found) == 20
    assert all(5 * SECOND <= each.fails_at <= 10 * SECOND for each in found)
    assert all(each.returns_at - each.fails_at == 1_800 * SECOND for each in found)


def test_outages_of_a_file_are_taken_as_they_are(play: ReplayInput, tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text("host,fails_at,returns_at\ng0,5,60.5\n")
    assert planned_outages(play, str(path), 1, 0) == [
        Outage(host="g0", fails_at=5 * SECOND, returns_at=60_500_000)
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("host,fails_at\ng0,5\n", "needs columns"),
        ("host,fails_at,returns_at\nno-workload,5,6\n", "unknown host no-workload"),
        ("host,fails_at,returns_at\ng0,soon,6\n", ":2: fails_at and returns_at are seconds"),
        ("host,fails_at,returns_at\ng0,6,6\n", "must be after fails_at"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    play: ReplayInput, tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "outages.csv"
    path.write_text(text)
    with pytest.raises(CommandFailed, match=complaint):
        planned_outages(play, str(path), 1, 0)


def test_a_replay_without_hosts_has_no_outages(tmp_path: Path) -> None:
    path = tmp_path / "flat.json"
    flat = {key: value for key, value in SCENARIO.items() if key != "topology"}
    path.write_text(json.dumps(flat))
    flat_play = scenario_replay(read_scenario(path), "r")
    assert planned_outages(flat_play, "", 1, 0) == []
    with pytest.raises(CommandFailed, match="no hosts"):
        planned_outages(flat_play, "3", 1, 0)


def on(*hosts: str) -> dict[str, object]:
    domains = [[[host], 1] for host in hosts]
    return {"pod_set_assignments": [{"topology_assignment": {"levels": ["h"], "domains": domains}}]}


def report_accepted(outage_results: OutageResults, *facts: Fact) -> None:
    for position, (name, kind, second, data) in enumerate(facts, start=1):
        outage_results.observe(
            Event(
                position=position,
                stream=f"workload/n/{name}",
                type=f"workload.{kind}",
                at=f"2026-01-01T00:00:{second:02d}Z",
                data=data,
            )
        )


def test_workloads_that_lost_a_host_are_counted_by_outcome() -> None:
    outage_results = OutageResults()
    begun: list[tuple[str, dict[str, object]]] = [
        ("quota_reserved", {"admission": on("a", "b")}),
        ("admitted", {}),
    ]
    starts: list[Fact] = [(name, "submitted", 0, {"uid": f"u-{name}"}) for name in "mervs"]
    starts += [(name, kind, 0, data) for kind, data in begun for name in "mervs"]
    hits: list[Fact] = [(name, "hosts_failed", 2, {"hosts": {"a": "NotReady"}}) for name in "mervs"]
    report_accepted(
        outage_results,
        *starts,
        ("m", "pods_gone", 1, {"hosts": ["a"]}),
        *hits,
        ("m", "placed", 3, {"admission": on("b", "c"), "replaced": ["a"]}),
        ("e", "evicted", 3, {"reason": "NodeFailures"}),
        ("e", "stopped", 4, {}),
        ("r", "hosts_recovered", 5, {}),
        ("v", "evicted", 5, {"reason": "Preempted"}),
        ("e", "quota_reserved", 6, {"admission": on("d")}),
        ("e", "admitted", 6, {}),
    )
    outage_results.changed(is_down=True)
    found = outage_results.resilience()
    assert (found.hosts_failed, found.workloads_hit, found.hits) == (1, 5, 5)
    assert (found.moved, found.evicted, found.admitted_again) == (1, 1, 1)
    assert (found.recovered, found.left, found.searching) == (1, 1, 1)
    assert found.mean_seconds_to_move == 2.0
    assert sorted(outage_results.admitted_on("a")) == ["n/r", "n/s", "n/v"]
    assert list(outage_results.admitted_on("c")) == ["n/m"]
    assert list(outage_results.admitted_on("d")) == ["n/e"]
    assert outage_results.in_use() == ["a", "b", "c", "d"]


def test_a_reservation_without_admission_has_no_pods_on_its_hosts() -> None:
    outage_results = OutageResults()
    report_accepted(
        outage_results,
        ("w", "submitted", 0, {"uid": "u"}),
        ("w", "quota_reserved", 0, {"admission": on("a")}),
    )
    assert list(outage_results.admitted_on("a")) == []
