"""What was measured, and how it is told."""

import json
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one run; `waits_milliseconds` is one per workload, in ascending order."""

    commits_per_second: float
    submits_per_second: float
    waits_milliseconds: tuple[float, ...]
    decoded_per_second: float
    replayed_per_second: float


def as_json(measured: Measured) -> str:
    """Absolute numbers and ratios, for machines."""
    return json.dumps(numbers(measured), indent=2)


def as_table(measured: Measured) -> str:
    """The same for people."""
    told = numbers(measured)
    table = Table("measured", "value", "yardstick", "value ", "ratio", title="Headgate bench")
    table.add_row(
        "submits per second over HTTP",
        f"{told['submits']['perSecond']:,.0f}",
        "bare commits per second",
        f"{told['submits']['bareCommitsPerSecond']:,.0f}",
        f"{told['submits']['ratio']:.2f}",
    )
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
    return {
        "submits": {
            "perSecond": round(measured.submits_per_second, 1),
            "bareCommitsPerSecond": round(measured.commits_per_second, 1),
            "ratio": round(measured.submits_per_second / measured.commits_per_second, 3),
        },
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


def percentile(ascending: tuple[float, ...], percent: int) -> float:
    """The smallest value that `percent` of all do not exceed."""
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)]
