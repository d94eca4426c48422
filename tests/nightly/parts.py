"""Assigns every property file and a disjoint range of seeds to each part of the nightly run."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.architecture.sources import ROOT

PART_COUNT: Final = 8
DAYS, COHORTS, WHAT_IF_DAYS, EXPLAINED_DAYS = 400, 50_000, 100, 1
"""How many seeds each part takes of simulations, termination, what-if and explanations."""


@dataclass(frozen=True, slots=True)
class Job:
    """One process of a part; `seeds` are those that it covers.

    A job that `is_exclusive` runs several processes itself, so that no other job runs beside it.
    """

    name: str
    command: tuple[str, ...]
    seeds: range
    is_exclusive: bool = False

    def describe(self) -> str:
        """The name and the range of seeds, as printed before the part runs."""
        return f"{self.name}: seeds {self.seeds.start} to {self.seeds.stop - 1}"


def parse_part(text: str) -> int:
    """The part of `k/n`, from 1; raises `ValueError` unless n is `PART_COUNT` and k lies in it."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count == str(PART_COUNT) and 1 <= int(number) <= PART_COUNT):
        raise ValueError(f"PART={text} is not k/{PART_COUNT} with k from 1 to {PART_COUNT}")
    return int(number)


def property_files() -> list[Path]:
    """Every test file that uses Hypothesis, by path."""
    found = (ROOT / "tests").rglob("test_*.py")
    return sorted(path for path in found if "from hypothesis import" in path.read_text("utf-8"))


def property_files_of(part: int) -> list[Path]:
    """The property files of one part: every `PART_COUNT`th, so that heavy folders are spread."""
    return property_files()[part - 1 :: PART_COUNT]


def jobs_of(part: int) -> list[Job]:
    """The jobs of one part; chaos is in the last part alone."""
    files = [str(path.relative_to(ROOT)) for path in property_files_of(part)]
    hypothesis = ("-m", "pytest", "-q", "-p", "no:randomly", f"--hypothesis-seed={part}")
    jobs = [
        Job("properties", _python(*hypothesis, *files), range(part, part + 1)),
        _seeded("simulation", "tests.simulation", "--days", _seeds(part, DAYS)),
        _seeded("termination", "tests.simulation.termination", "--cohorts", _seeds(part, COHORTS)),
        _seeded("what-if", "tests.what_if", "--days", _seeds(part, WHAT_IF_DAYS)),
    ]
    jobs += [
        Job(
            "explanations",
            _python("-m", "tests.simulation.explanations", "--seed", str(seed)),
            range(seed, seed + 1),
        )
        for seed in _seeds(part, EXPLAINED_DAYS)
    ]
    if part == PART_COUNT:
        seeds = range(part, part + 1)
        chaos = _python("-m", "tests.chaos", "--seed", str(part))
        jobs.append(Job("chaos", chaos, seeds, is_exclusive=True))
    return jobs


def _seeds(part: int, count: int) -> range:
    return range((part - 1) * count, part * count)


def _seeded(name: str, module: str, option: str, seeds: range) -> Job:
    first, count = str(seeds.start), str(len(seeds))
    return Job(name, _python("-m", module, "--first-seed", first, option, count), seeds)


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)
