"""A replay reads its files right, keeps its own time, and counts what the log tells."""

import json
from pathlib import Path

import pytest

from headgate.cli.failures import CommandFailed
from headgate.cli.replay.arrivals import Arrival, FreeTime, ScaledTime
from headgate.cli.replay.command import trace_time
from headgate.cli.replay.figures import (
    ReplayLog,
    mean_usage,
    outcome_of,
    percentile,
    waits_by_class,
    wall_seconds,
)
from headgate.cli.replay.openb import (
    BLOCK_LABEL,
    GPU_MILLI,
    MODEL_LABEL,
    RACK_LABEL,
    gpu_share,
    openb_replay,
    read_hosts,
    read_pods,
)
from headgate.cli.replay.scenario import read_scenario, scenario_replay
from headgate.client.schemas import Event

HOSTS = "sn,cpu_milli,memory_mib,gpu,model\nh0,32000,1024,0,\n" + "".join(
    f"g{n},96000,2048,8,G2\n" for n in range(300)
)
COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)
PODS = (
    COLUMNS
    + """\
p1,4000,1024,1,460,V100M16|V100M32|V100M32,LS,Running,10,110,20
p0,1000,512,0,0,,BE,Running,5,15,
p2,8000,1024,4,1000,,Burstable,Running,10,12,10
"""
)
SCENARIO = {
    "name": "tiny",
    "cohorts": 2,
    "queues_per_cohort": 2,
    "topology": {
        "levels": [
            {"nodeLabel": "rack", "count": 2},
            {"nodeLabel": "kubernetes.io/hostname", "count": 3, "allocatable": {"cpu": "9"}},
        ]
    },
    "queue": {
        "nominal_cpu_milli": 20000,
        "borrowing_limit_cpu_milli": 1000,
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "workload_sets": [
            {"class": "a", "count": 3, "create_every_ms": 100, "runtime_ms": 200, "priority": 50,
             "pods": 2, "cpu_milli_per_pod": 500,
             "topology": {"mode": "balanced", "level": "rack", "slice_size": 2}},
        ],
    },
}  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "hosts.csv").write_text(HOSTS)
    (tmp_path / "pods.csv").write_text(PODS)
    return tmp_path / "hosts.csv", tmp_path / "pods.csv"


def test_pods_come_in_order_of_creation_with_their_length(trace: tuple[Path, Path]) -> None:
    pods = read_pods(trace[1])
    assert [(pod.name, pod.created_at, pod.run_seconds) for pod in pods] == [
        ("p0", 5, 10),
        ("p1", 10, 90),
        ("p2", 10, 2),
    ]
    assert pods[1].models == ("V100M16", "V100M32")


def test_shares_of_gpus_are_exact() -> None:
    assert [gpu_share(0, 0), gpu_share(1, 460), gpu_share(1, 1000), gpu_share(8, 1000)] == (
        [0, 460, 1000, 8000]
    )


def test_hosts_of_a_model_fill_racks_of_16_and_blocks_of_256(trace: tuple[Path, Path]) -> None:
    play = openb_replay(read_hosts(trace[0]), read_pods(trace[1]), "r")
    nodes = {
        each["metadata"]["name"]: each["metadata"]["labels"]
        for each in play.configuration
        if each["kind"] == "Node"
    }
    assert nodes["g15"][RACK_LABEL] == "openb-g2-rack-0"
    assert nodes["g16"][RACK_LABEL] == "openb-g2-rack-1"
    assert nodes["g255"][BLOCK_LABEL] == "openb-g2-block-0"
    assert nodes["g256"][BLOCK_LABEL] == "openb-g2-block-1"
    assert nodes["h0"][MODEL_LABEL] == "none"
    assert play.nominal[GPU_MILLI] == 300 * 8_000


def test_allowed_models_become_node_affinity(trace: tuple[Path, Path]) -> None:
    play = openb_replay(read_hosts(trace[0]), read_pods(trace[1]), "r")
    spec = play.arrivals[1].manifest["spec"]["podSets"][0]["template"]["spec"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    wish = terms["nodeSelectorTerms"][0]["matchExpressions"][0]
    assert (wish["key"], wish["values"]) == (MODEL_LABEL, ["V100M16", "V100M32"])
    assert play.arrivals[1].requests[GPU_MILLI] == 460


def test_a_file_without_the_needed_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(CommandFailed, match="cpu_milli"):
        read_pods(tmp_path / "bad.csv")


def test_a_scenario_creates_at_fixed_intervals_in_every_queue(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(SCENARIO))
    play = scenario_replay(read_scenario(path), "r")
    assert len(play.arrivals) == 12
    assert sorted({arrival.at for arrival in play.arrivals}) == [0, 100_000, 200_000]
    assert play.nominal == {"cpu": 80_000}
    assert sum(each["kind"] == "Node" for each in play.configuration) == 6
    request = play.arrivals[0].manifest["spec"]["podSets"][0]["topologyRequest"]
    assert (request["preferred"], request["podSetSliceSize"]) == ("rack", 2)


def test_free_time_goes_where_it_is_asked_and_never_back() -> None:
    time = FreeTime()
    assert time.reach(50)
    assert time.reach(20)
    assert time.now() == 50


def test_scaled_time_waits_for_the_clock() -> None:
    time = ScaledTime(0.001)
    assert not time.reach(1_000_000)
    assert time.seconds_until(1_000_000) > 900


@pytest.mark.parametrize("speed", ["0", "-1", "fast"])
def test_a_senseless_speed_is_refused(speed: str) -> None:
    with pytest.raises(CommandFailed):
        trace_time(speed)


def arrival(name: str, label: str = "a", cpu: int = 100) -> Arrival:
    return Arrival(
        key=f"n/{name}", at=0, run_length=0, label=label, requests={"cpu": cpu}, manifest={}
    )


def told(replay_log: ReplayLog, *facts: tuple[str, str, int]) -> None:
    for position, (name, kind, second) in enumerate(facts, start=1):
        replay_log.observe(
            Event(
                position=position,
                stream=f"workload/n/{name}",
                type=f"workload.{kind}",
                at=f"2026-01-01T00:00:{second:02d}Z",
                data={"reason": "Preempted"},
            )
        )


def test_figures_follow_from_the_journal() -> None:
    replay_log = ReplayLog([arrival("x"), arrival("y", label="b")])
    told(
        replay_log,
        ("x", "submitted", 0),
        ("x", "quota_reserved", 2),
        ("x", "admitted", 2),
        ("x", "evicted", 3),
        ("x", "stopped", 4),
        ("y", "submitted", 10),
        ("y", "explained", 11),
        ("x", "quota_reserved", 12),
        ("x", "admitted", 12),
        ("x", "finished", 20),
    )
    assert wall_seconds(replay_log) == 20
    assert mean_usage(replay_log, {"cpu": 100}) == {"cpu": 25.0}
    assert replay_log.evictions == {"Preempted": 1}
    waits = waits_by_class(replay_log)
    assert (waits["a"].mean_seconds, waits["b"].admitted) == (2.0, 0)
    assert (replay_log.finished, replay_log.admissions) == (1, 2)


def test_events_reported_twice_count_once() -> None:
    replay_log = ReplayLog([arrival("x")])
    told(replay_log, ("x", "submitted", 0), ("x", "admitted", 1))
    told(replay_log, ("x", "submitted", 0), ("x", "admitted", 1))
    assert replay_log.admissions == 1


def test_what_was_explained_or_refused_is_no_longer_undecided() -> None:
    replay_log = ReplayLog([arrival("x"), arrival("y")])
    replay_log.sent("n/x")
    replay_log.sent("n/y")
    told(replay_log, ("x", "explained", 0))
    replay_log.refused("n/y", "no such queue")
    assert replay_log.undecided == 0


def test_not_evaluated_yet_is_no_explanation_once_nothing_moves() -> None:
    found = outcome_of(10, 6, {"TopologyPlacementFailed": 1, "NotYetEvaluated": 2})
    assert (found.explained, found.unexplained, found.lost) == (1, 2, 1)


def test_the_99th_percentile_is_a_value_that_occurred() -> None:
    assert percentile([float(n) for n in range(1, 101)], 0.99) == 99.0
    assert percentile([3.0], 0.99) == 3.0
