"""Histograms for Prometheus."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

Labels: TypeAlias = dict[str, str]


Sample: TypeAlias = tuple[Labels, float]


def metric_lines(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """One figure with its help, its kind and a line for each of its labels."""
    yield from headed(name, kind, text)
    for labels, value in samples:
        yield sampled(name, labels, value)


def headed(name: str, kind: str, text: str) -> Iterator[str]:
    """What stands above the samples of a figure."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def sampled(name: str, labels: Mapping[str, str], value: float) -> str:
    """One sample."""
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = "+Inf" if value == float("inf") else repr(value) if value % 1 else str(int(value))
    return f"{name}{{{inside}}} {number}" if inside else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


WAIT_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)
"""Upper bounds for what people wait for."""

RUN_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Upper bounds for what machines take; Prometheus' usual ones."""

BucketBounds = tuple[float, ...]


class DurationHistogram:
    """How large what was measured is; `within` counts what is at most each bound."""

    def __init__(self, bounds: BucketBounds = WAIT_SECONDS) -> None:
        self.bounds = bounds
        self.within = [0] * len(bounds)
        self.count = 0
        self.total: float = 0

    def add(self, value: float) -> None:
        """Count one."""
        self.count += 1
        self.total += value
        for index, most in enumerate(self.bounds):
            self.within[index] += value <= most

    def merge(self, other: "DurationHistogram") -> None:
        """Count those of another with the same bounds as well."""
        self.count += other.count
        self.total += other.total
        self.within = [mine + its for mine, its in zip(self.within, other.within, strict=True)]


def histogram_lines(
    name: str, text: str, found: Iterable[tuple[Labels, DurationHistogram]]
) -> Iterator[str]:
    """One figure with its help, its kind and the lines for each of its labels."""
    yield from headed(name, "histogram", text)
    for labels, histogram in found:
        for most, number in zip(histogram.bounds, histogram.within, strict=True):
            yield sampled(f"{name}_bucket", {**labels, "le": str(most)}, number)
        yield sampled(f"{name}_bucket", {**labels, "le": "+Inf"}, histogram.count)
        yield sampled(f"{name}_sum", labels, round(histogram.total, 6))
        yield sampled(f"{name}_count", labels, histogram.count)
