"""The parts of the nightly run cover every property and no seed twice."""

import re
import runpy
import sys

import pytest

from tests.nightly.parts import (
    PART_COUNT,
    jobs_of,
    long_files,
    long_files_of,
    parse_part,
    property_files,
    property_files_of,
)

PARTS = range(1, PART_COUNT + 1)
SMALLEST = {
    "simulation": ("tests.simulation", "--days=1", "--steps=20"),
    "explanations": ("tests.simulation.explanations", "--workloads=10", "--positions=5"),
}


def test_every_property_file_is_in_exactly_one_part() -> None:
    assert sorted(path for part in PARTS for path in property_files_of(part)) == property_files()


def test_every_test_left_to_the_nightly_run_is_in_exactly_one_part() -> None:
    assert sorted(path for part in PARTS for path in long_files_of(part)) == long_files()
    names = [argument for part in PARTS for job in jobs_of(part) for argument in job.command]
    for file in (
        "processes/test_up.py",
        "simulation/test_explanations.py",
        "browser/test_pages.py",
    ):
        assert names.count(f"tests/{file}") == 1


def test_every_property_is_tried_more_often_than_in_a_quick_run() -> None:
    fixed = re.compile(r"max_examples=[0-9]")
    assert [path.name for path in property_files() if fixed.search(path.read_text("utf-8"))] == []


def test_no_seed_of_a_job_is_in_two_parts() -> None:
    seeds: dict[str, list[int]] = {}
    for part in PARTS:
        for job in jobs_of(part):
            seeds.setdefault(job.name, []).extend(job.seeds)
    days = {"simulation", "short days"}
    assert sum(len(seeds[name]) for name in days) == 10_000
    engines = days | {"termination", "what-if", "explanations", "chaos", "contract", "fuzz"}
    engines |= {
        "executors.bad_days",
        "chaos.executors",
        "chaos.slurm",
        "chaos.failover",
        "chaos.outages",
        "chaos.shares",
        "cells",
    }
    assert set(seeds) == engines | {"properties", "long tests"}
    assert all(len(found) == len(set(found)) for found in seeds.values())


@pytest.mark.parametrize("name", SMALLEST)
def test_an_engine_passes_when_run_as_a_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, *options = SMALLEST[name]
    assert any(module in job.command for job in jobs_of(1) if job.name == name)
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "argv", [module, *options])
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise


@pytest.mark.parametrize("text", ["", "1", "0/8", "9/8", "1/4", "x/8", "-1/8"])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not k/8"):
        parse_part(text)
