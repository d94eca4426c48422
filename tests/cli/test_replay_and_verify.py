"""A small trace through the real system, and then the proof that nothing was broken on the way."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.application.verify.verify import Verifier
from headgate.bootstrap import open_platform
from headgate.cli.replay.arrivals import FreeTime, ReplayInput, ScaledTime, TraceTime
from headgate.cli.replay.command import ReplayOptions, run_replay
from headgate.cli.replay.openb import openb_replay, read_hosts, read_pods
from headgate.cli.replay.outages import planned_outages
from headgate.cli.replay.runner import SubmissionLimits
from headgate.cli.replay.scenario import read_scenario, scenario_replay
from headgate.client.transport import Connection
from headgate.settings import Settings
from tests.cli.test_replay import HOSTS, SCENARIO
from tests.hypothesis_profiles import examples

HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n"
PODS, PODS_OF_OUTAGES = examples(60, quick=24), examples(80, quick=32)
TOO_LARGE = "huge,96000,2048,9,1000,,LS,50,60\n"


def pods(count: int) -> str:
    kinds = ("LS", "BE", "Burstable")
    return "".join(
        f"p{n},12000,64,{n % 3},{460 if n % 3 == 1 else 1000},,{kinds[n % 3]},{n},{n + 40}\n"
        for n in range(count)
    )


def play_all(
    connection: Connection,
    play: ReplayInput,
    begin: Callable[[], TraceTime],
    limits: SubmissionLimits,
) -> tuple[int, int, int]:
    options = ReplayOptions(begin=begin, limits=limits, directory=Path("nowhere"))
    figures = run_replay(connection, play, options)
    return figures.finished, figures.explained, figures.lost


def test_every_pod_of_a_trace_ends_or_is_explained(
    connection: Connection, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "hosts.csv").write_text("\n".join(HOSTS.splitlines()[:4]) + "\n")
    (tmp_path / "pods.csv").write_text(HEAD + pods(PODS) + TOO_LARGE)
    play = openb_replay(read_hosts(tmp_path / "hosts.csv"), read_pods(tmp_path / "pods.csv"), "t")
    assert play_all(connection, play, FreeTime, SubmissionLimits(window=16, batch=8)) == (
        PODS,
        1,
        0,
    )
    assert_verified(database_url)


def test_a_scenario_ends_with_every_workload_finished(
    connection: Connection, database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(SCENARIO))
    play = scenario_replay(read_scenario(path), "t")
    finished = play_all(
        connection, play, lambda: ScaledTime(1.0), SubmissionLimits(window=1_000, batch=50)
    )
    assert finished == (12, 0, 0)
    assert_verified(database_url)


@pytest.mark.slow
@pytest.mark.nightly
def test_hosts_that_fail_lose_no_workload_and_break_no_rule(
    connection: Connection, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "hosts.csv").write_text("\n".join(HOSTS.splitlines()[:8]) + "\n")
    (tmp_path / "pods.csv").write_text(HEAD + pods(PODS_OF_OUTAGES))
    hosts, trace = read_hosts(tmp_path / "hosts.csv"), read_pods(tmp_path / "pods.csv")
    play = openb_replay(hosts, trace, "outages")
    options = ReplayOptions(
        begin=FreeTime,
        limits=SubmissionLimits(window=16, batch=8),
        directory=Path("nowhere"),
        outages=planned_outages(play, "12", 1, 1),
    )
    figures = run_replay(connection, play, options)
    assert (figures.finished, figures.explained, figures.lost) == (PODS_OF_OUTAGES, 0, 0)
    found = figures.outages
    assert found is not None
    assert found.hosts_failed == found.hosts_returned > 0
    assert found.hits == found.moved + found.evicted + found.recovered + found.left > 0
    assert found.admitted_again + found.finished_while_evicting == found.evicted
    assert found.searching == 0
    assert_verified(database_url)


def assert_verified(database_url: str) -> None:
    settings = Settings(database_url=database_url, broker_url="memory://")
    platform = open_platform(settings, name="verify")
    try:
        verification = Verifier(
            platform.event_log, platform.read_models, platform.followers
        ).verify(lambda *_: None)
    finally:
        platform.close()
    assert verification.findings == ()
    assert verification.position == sum(
        count for name, count in verification.counts.items() if name != "read-model rows"
    )
