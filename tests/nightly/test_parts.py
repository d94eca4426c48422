"""The parts of the nightly run cover every property and no seed twice."""

import pytest

from tests.nightly.parts import PART_COUNT, jobs_of, parse_part, property_files, property_files_of

PARTS = range(1, PART_COUNT + 1)


def test_every_property_file_is_in_exactly_one_part() -> None:
    assert sorted(path for part in PARTS for path in property_files_of(part)) == property_files()


def test_no_seed_of_a_job_is_in_two_parts() -> None:
    seeds: dict[str, list[int]] = {}
    for part in PARTS:
        for job in jobs_of(part):
            seeds.setdefault(job.name, []).extend(job.seeds)
    assert {"properties", "simulation", "termination", "what-if", "explanations", "chaos"} == set(
        seeds
    )
    assert all(len(found) == len(set(found)) for found in seeds.values())


@pytest.mark.parametrize("text", ["", "1", "0/8", "9/8", "1/4", "x/8", "-1/8"])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not k/8"):
        parse_part(text)
