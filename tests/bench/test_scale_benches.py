"""The benches of scale run at all, on the workloads that an installation would have."""

from collections.abc import Iterator
from typing import get_args

import pytest
from msgspec.structs import replace

from headgate.adapters.postgres.connections import USES_OF_DICTIONARY
from headgate.bootstrap import Platform, open_platform
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.domain.workloads.state import phase_of
from headgate.event_log.codec import encode
from headgate.settings import Settings
from tests.bench.memory import folded
from tests.bench.population import Population, filled_database
from tests.bench.reads import PAGE_READS
from tests.bench.scale import Sizes, Target, measure, summary
from tests.bench.start import Upgrade, first_decision, settle
from tests.bench.storage import storage_each
from tests.builders.mixes import MIXES, TEMPLATES, Mix, a_submission_of

MISSED = Target(name="slow", measured="2 s", aim="≤ 1 s", is_met=False)
MET = Target(name="fast", measured="1 s", aim="≤ 1 s", is_met=True)


@pytest.fixture
def platform(fresh_database_url: str) -> Iterator[Platform]:
    opened = open_platform(Settings(database_url=fresh_database_url, broker_url="memory://"))
    yield opened
    opened.close()


@pytest.mark.parametrize("mix", MIXES)
def test_a_mix_has_as_many_templates_as_it_says(mix: Mix) -> None:
    numbers = range(TEMPLATES[mix] if mix != "diverse" else 40)
    submitted = [a_submission_of(mix, number, "lq")[0] for number in numbers]
    bodies = {encode(_without_name(event)) for event in submitted}
    # Of `unique`, what differs from workload to workload stands beside the log.
    written = {event.spec.pod_sets[0].written for event in submitted}
    assert max(len(bodies), len(written)) >= len(numbers) if mix != "small" else len(bodies) == 1
    assert len({event.uid for event in submitted}) == len({event.name for event in submitted})


def test_a_submit_that_is_made_of_a_known_template_is_the_one_that_is_read_anew() -> None:
    known, _ = a_submission_of("training", 7, "lq")
    (later, desired) = a_submission_of("training", 7 + 4 * TEMPLATES["training"], "lq")
    assert later.spec.pod_sets == known.spec.pod_sets == desired.spec.pod_sets
    assert later.name != known.name


@pytest.mark.parametrize(("stage", "phase"), [("pending", "Pending"), ("running", "Running")])
def test_the_bench_of_memory_folds_workloads_in_a_stage(stage: str, phase: str) -> None:
    cluster_state = folded("training", stage, 20)  # type: ignore[arg-type]
    phases = [phase_of(cluster_state.workloads[f"bench/training-{n}"]) for n in range(20)]
    assert phases == [phase] * 20


def test_a_population_shows_in_its_read_models_what_its_log_says(platform: Platform) -> None:
    population = Population(platform, 2)
    population.configure()
    lives = storage_each(platform, population, "training", 5, is_life=True)
    submits = storage_each(platform, population, "small", 5, is_life=False)
    assert lives.tables["event"] > 0
    assert submits.wal > 0

    live = platform.live_state()
    cluster_state = live.cluster_state
    streams = [f"workload/{key}" for key in cluster_state.workloads]
    rows = {loaded.stream: loaded.state for loaded in platform.read_models.load(streams)}
    assert rows == {stream: cluster_state.state_of(stream) for stream in streams}
    phases = [phase_of(state) for state in rows.values()]
    trained = 2 * (USES_OF_DICTIONARY + 1)
    assert phases.count("Pending") == 5 + trained
    assert phases.count("Running") == 2, "each queue is full"


def test_the_last_line_counts_the_targets_that_are_met() -> None:
    assert summary([MISSED, MET, MISSED]) == "scale: 1 of 3 targets met"
    assert str(MISSED).endswith("missed")
    assert str(MET).endswith(" met")


@pytest.mark.nightly
def test_the_bench_of_scale_prints_a_line_for_each_target() -> None:
    targets = list(measure(Sizes(pending=240, finished=40, batch=20, read_seconds=0.1)))
    assert len({target.name for target in targets}) == len(targets) == 16 + len(PAGE_READS)


@pytest.mark.nightly
def test_a_release_goes_on_from_the_snapshot_of_the_one_before() -> None:
    """Releases are copies of the packages; one with another comment folds the same state."""
    with filled_database() as (_, platform, population):
        population.add_pending("training", 40)
        position = settle(platform)
        begun = {
            upgrade: first_decision(platform, population, upgrade).snapshot
            for upgrade in get_args(Upgrade)
        }

    assert begun == {"none": position, "comment": position, "column": position, "unreadable": 0}


def _without_name(event: WorkloadSubmitted) -> WorkloadSubmitted:
    return replace(event, uid="", name="", labels={})
