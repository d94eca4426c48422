"""The lines of Prometheus' text format."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

Labels: TypeAlias = dict[str, str]
Sample: TypeAlias = tuple[Labels, float]


def written(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
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
