"""Assigns property files, files of long tests and disjoint ranges of seeds to the nightly parts."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.architecture.sources import ROOT

PART_COUNT: Final = 8
EXECUTOR_PART: Final = 6
"""The part that runs bad days of executors, and chaos under real processes."""
CONTRACT_PART: Final = 7
"""The part that runs schemathesis and the fuzz."""
DAYS, SHORT_DAYS, COHORTS, WHAT_IF_DAYS, EXPLAINED_DAYS = 120, 1_130, 50_000, 40, 1
"""How many seeds each part takes of simulations, termination, what-if and explanations.

The parts together simulate 10,000 days, most of them short. A day takes about 3.5 s of processor
time, a short one 0.4 s, 1,000 cohorts 2 s, a day of what-if 5 s and a day of explanations 8
minutes: together about 16 minutes of 2 cores.
"""
CELLS_PART: Final = 2
CELLS: Final = 600
"""The part that simulates days of several cells, and how many: about two minutes of one core."""
OF_A_DAY: Final = ("--workloads", "10000", "--positions", "500")
SHORT: Final = ("--steps", "60")
LONG: Final = ("pytest.mark.nightly", "from tests.hypothesis_profiles import")
"""What a file of tests has that `make test` leaves out, or runs with less."""


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


def long_files() -> list[Path]:
    """Every other test file of which `make test` runs less than there is, by path."""
    texts = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    found = {path for path, text in texts.items() if any(sign in text for sign in LONG)}
    return sorted(found - set(property_files()))


def long_files_of(part: int) -> list[Path]:
    """The long files of one part: every `PART_COUNT`th, from the last part on."""
    return long_files()[PART_COUNT - part :: PART_COUNT]


def jobs_of(part: int) -> list[Job]:
    """The jobs of one part; schemathesis, the fuzz and chaos are in one part each."""
    seeds = range(part, part + 1)
    pytest = ("-m", "pytest", "-q", "-p", "no:randomly", f"--hypothesis-seed={part}")
    jobs = [
        Job("properties", _python(*pytest, *_named(property_files_of(part))), seeds),
        _seeded("simulation", "tests.simulation", "--days", _seeds(part, DAYS)),
        _seeded("short days", "tests.simulation", "--days", _seeds(part, SHORT_DAYS), *SHORT),
        _seeded("termination", "tests.simulation.termination", "--cohorts", _seeds(part, COHORTS)),
        _seeded("what-if", "tests.what_if", "--days", _seeds(part, WHAT_IF_DAYS)),
    ]
    jobs += [
        Job(
            "explanations",
            _python("-m", "tests.simulation.explanations", "--seed", str(seed), *OF_A_DAY),
            range(seed, seed + 1),
        )
        for seed in _seeds(part, EXPLAINED_DAYS)
    ]
    if files := long_files_of(part):
        jobs.insert(0, Job("long tests", _python(*pytest, *_named(files)), seeds))
    if part == CELLS_PART:
        cells = _python("-m", "tests.simulation.cells", "--seeds", f"0-{CELLS - 1}")
        jobs.append(Job("cells", cells, range(CELLS)))
    if part == CONTRACT_PART:
        seeds = range(part, part + 1)
        contract = _python("-m", "tests.fuzz.contract", "--seed", str(part))
        jobs.append(Job("contract", contract, seeds, is_exclusive=True))
        fuzz = _python("-m", "tests.fuzz", "--seed", str(part), "--seconds", "600")
        jobs.append(Job("fuzz", fuzz, seeds, is_exclusive=True))
    if part == PART_COUNT:
        chaos = _python("-m", "tests.chaos", "--seed", str(part))
        jobs.append(Job("chaos", chaos, seeds, is_exclusive=True))
        for name in ("chaos.failover", "chaos.outages", "chaos.shares"):
            jobs.append(Job(name, _python("-m", f"tests.{name}"), seeds, is_exclusive=True))
    if part == EXECUTOR_PART:
        for name in ("tests.executors.bad_days", "tests.chaos.executors", "tests.chaos.slurm"):
            job = Job(name.removeprefix("tests."), _python("-m", name), seeds, is_exclusive=True)
            jobs.append(job)
    return jobs


def _named(files: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in files]


def _seeds(part: int, count: int) -> range:
    return range((part - 1) * count, part * count)


def _seeded(name: str, module: str, option: str, seeds: range, *more: str) -> Job:
    first, count = str(seeds.start), str(len(seeds))
    return Job(name, _python("-m", module, "--first-seed", first, option, count, *more), seeds)


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)
