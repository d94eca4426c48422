"""The measured numbers, and their output."""

import json
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.submits import Submits

SUBMITS = {
    "grouped": "submits per second at the log, grouped",
    "submits": "submits per second over HTTP, one a request",
    "batches": "submits per second over HTTP, in batches",
}


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one run; `waits_milliseconds` is one per workload, in ascending order."""

    commits_per_second: float
    grouped_per_second: float
    submits: Submits
    batches: Submits
    waits_milliseconds: tuple[float, ...]
    decoded_per_second: float
    replayed_per_second: float


def as_json(measured: Measured) -> str:
    """Returns absolute numbers and ratios as JSON."""
    return json.dumps(numbers(measured), indent=2)


def as_table(measured: Measured) -> str:
    """Returns absolute numbers and ratios as a table."""
    told = numbers(measured)
    table = Table("measured", "value", "yardstick", "value ", "ratio", title="Headgate bench")
    commits = f"{told['bareCommitsPerSecond']:,.0f}"
    for part, name in SUBMITS.items():
        rate, ratio = told[part]["perSecond"], told[part]["ratio"]
        table.add_row(name, f"{rate:,.0f}", "bare commits per second", commits, f"{ratio:.2f}")
        if "clientMicroseconds" in told[part]:
            used = f"{told[part]['clientMicroseconds']:,.0f} us"
            table.add_row("  the client's own processor time for each", used)
    table.add_row(
        "submit to admitted, p50 / p99",
        f"{told['admissions']['p50Milliseconds']:.0f} / "
        f"{told['admissions']['p99Milliseconds']:.0f} ms",
        f"{told['admissions']['workloads']} workloads",
        "",
        "",
    )
    table.add_row(
        "events replayed per second",
        f"{told['replay']['perSecond']:,.0f}",
        "bare JSON decoding",
        f"{told['replay']['bareDecodingPerSecond']:,.0f}",
        f"{told['replay']['ratio']:.2f}",
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()


def numbers(measured: Measured) -> dict[str, Any]:
    """Each part with its yardstick and the ratio of the two."""
    waits = measured.waits_milliseconds
    commits = measured.commits_per_second
    return {
        "bareCommitsPerSecond": round(commits, 1),
        "grouped": _rate(measured.grouped_per_second, commits),
        "submits": _submits(measured.submits, commits),
        "batches": _submits(measured.batches, commits),
        "admissions": {
            "workloads": len(waits),
            "p50Milliseconds": round(percentile(waits, 50), 1),
            "p99Milliseconds": round(percentile(waits, 99), 1),
        },
        "replay": {
            "perSecond": round(measured.replayed_per_second, 1),
            "bareDecodingPerSecond": round(measured.decoded_per_second, 1),
            "ratio": round(measured.replayed_per_second / measured.decoded_per_second, 3),
        },
    }


def _submits(submits: Submits, commits: float) -> dict[str, float]:
    used = round(submits.client_microseconds, 1)
    return {**_rate(submits.per_second, commits), "clientMicroseconds": used}


def _rate(per_second: float, commits: float) -> dict[str, float]:
    return {"perSecond": round(per_second, 1), "ratio": round(per_second / commits, 3)}


def percentile(ascending: tuple[float, ...], percent: int) -> float:
    """The smallest value that `percent` of all do not exceed."""
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)]
