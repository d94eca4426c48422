"""`python -m tests.chaos`: a trace replayed while workers, broker and database are broken."""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.faults import Fault, fault_sequence
from tests.chaos.ledger import Ledger, read_ledger
from tests.contracts.adapters import on_postgres
from tests.cycles.every_adapter import compare_on_every_adapter
from tests.processes.programs import wait_until
from tests.processes.up import HEADGATE, Up, environment, services

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
NODES = "openb-nodes.csv"
PODS = "openb-pods-gpuspec33.csv"
NAMESPACE = "chaos"
MINUTES = 60.0
SECONDS_TO_SETTLE = 120.0


@dataclass(frozen=True, slots=True)
class Replay:
    """The replay under way; its figures come at its end."""

    process: "subprocess.Popen[bytes]"
    output: Path
    complaints: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known when all has stopped: the log, the replay's figures, and what does not hold."""

    ledger: Ledger
    figures: dict[str, Any]
    verified: str
    cycles_again: int
    broken: tuple[str, ...]


def main() -> int:
    """0 if everything held, 1 if not; with nothing to replay it says so and is content."""
    asked = _arguments()
    if not (asked.traces / PODS).exists():
        print(f"skipped: there are no traces in {asked.traces}")
        return 0
    with services() as up:
        up.start("--workers", "2")
        outcome = _run(up, asked)
    _report(outcome)
    return 1 if outcome.broken else 0


def _run(up: Up, asked: argparse.Namespace) -> Outcome:
    faults = fault_sequence(asked.kills, asked.flushes, asked.restarts, asked.seed)
    url = str(json.loads((up.data / "run.json").read_text())["database_url"])
    replay = _begin(up, asked)
    thrown = _throw(up, faults, replay, asked.limit)
    ended = _await_end(replay)
    with on_postgres(url) as adapters:
        # What time alone makes due may come later; what lies in the log must be seen by now.
        wait_until(
            lambda: not adapters.partitions.agenda().due, "all is decided", SECONDS_TO_SETTLE
        )
    verified = _headgate(up, "verify", "--database-url", url)
    ledger = read_ledger(url)
    again = compare_on_every_adapter(url, asked.cycles)
    stopped = up.stop()
    figures = _figures(replay)
    broken = _broken(ledger, figures)
    if thrown < len(faults):
        broken.append(f"only {thrown} of {len(faults)} faults were thrown: take a higher --limit")
    if ended != 0:
        broken.append(f"the replay ended with {ended}: {replay.complaints.read_text()[-1000:]}")
    if verified.returncode != 0:
        broken.append("headgate verify found a broken rule")
    broken += [f"cycle {name} did not run again to the same bytes" for name in again.different]
    if stopped != 0:
        broken.append(f"headgate up ended with {stopped}")
    checked = verified.stdout + verified.stderr
    return Outcome(ledger, figures, checked, again.cycles, tuple(broken))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES, help="where the openb trace lies")
    parser.add_argument("--limit", type=int, default=8_152, help="so many workloads")
    parser.add_argument("--kills", type=int, default=10, help="so many kill -9 of workers")
    parser.add_argument("--flushes", type=int, default=2, help="so often the broker is emptied")
    parser.add_argument("--restarts", type=int, default=1, help="so often the database stops")
    parser.add_argument("--cycles", type=int, default=50, help="so many are run again at the end")
    parser.add_argument("--seed", type=int, default=0, help="another order of faults")
    return parser.parse_args()


def _begin(up: Up, asked: argparse.Namespace) -> Replay:
    output, complaints = up.directory / "replay.json", up.directory / "replay.err"
    command = [
        HEADGATE, "replay", "openb", "--nodes", str(asked.traces / NODES),
        "--pods", str(asked.traces / PODS), "--limit", str(asked.limit),
        "--run", NAMESPACE, "--window", "16", "--batch", "8", "--output", "json",
    ]  # fmt: skip
    with output.open("wb") as out, complaints.open("wb") as err:
        process = subprocess.Popen(command, env=_pointing_at(up), stdout=out, stderr=err)
    return Replay(process, output, complaints)


def _throw(up: Up, faults: list[Fault], replay: Replay, limit: int) -> int:
    """Throw the faults evenly over the submissions; how many were thrown before the end."""
    for number, fault in enumerate(faults):
        share = (number + 1) / (len(faults) + 2)
        while _submitted(up) < share * limit and replay.process.poll() is None:
            time.sleep(0.2)
        if replay.process.poll() is not None:
            return number
        print(f"{_submitted(up):>6} submitted: {fault(up)}", flush=True)
    return len(faults)


def _submitted(up: Up) -> int:
    """How many workloads there are, or none while the API cannot say."""
    try:
        counts = up.request("GET", "/v1/overview").json()["counts"]
    except Exception:  # noqa: BLE001 - the API may be away, which is the point
        return 0
    return sum(counts.values())


def _await_end(replay: Replay) -> int:
    try:
        return replay.process.wait(60 * MINUTES)
    except subprocess.TimeoutExpired:
        replay.process.kill()
        return replay.process.wait()


def _figures(replay: Replay) -> dict[str, Any]:
    """What the replay reported, if it got that far."""
    try:
        found: dict[str, Any] = json.loads(replay.output.read_text())
    except json.JSONDecodeError:
        return {}
    return found


def _broken(ledger: Ledger, figures: dict[str, Any]) -> list[str]:
    """Everything that does not hold in the log, in words."""
    expected = figures.get("workloads")
    broken = []
    if ledger.submitted != expected:
        broken.append(f"{expected} were submitted, {ledger.submitted} are in the log")
    if figures.get("lost"):
        broken.append(f"{figures['lost']} workloads were lost")
    broken += [f"{stream} was submitted twice" for stream in ledger.submitted_twice]
    broken += [f"{stream} was admitted twice" for stream in ledger.admitted_twice]
    return broken


def _report(outcome: Outcome) -> None:
    ledger = outcome.ledger
    print(
        f"\n{ledger.events} events: {ledger.submitted} submitted, {ledger.admissions} admissions, "
        f"{ledger.finished} finished; the replay took {outcome.figures.get('wallSeconds')} s\n"
        f"{outcome.verified}{outcome.cycles_again} cycles at random ran again on both adapters "
        "under two hash seeds\n"
    )
    for line in outcome.broken:
        print(f"BROKEN: {line}")
    if not outcome.broken:
        print("nothing lost, nothing twice")


def _headgate(up: Up, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [HEADGATE, *arguments], env=_pointing_at(up), capture_output=True, text=True, check=False
    )


def _pointing_at(up: Up) -> dict[str, str]:
    return {**environment(), "HEADGATE_DIRECTORY": str(up.data), "NO_COLOR": "1"}


if __name__ == "__main__":
    sys.exit(main())
