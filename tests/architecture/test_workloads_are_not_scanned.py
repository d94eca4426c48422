"""Only the fold, its indices and what is listed here go through all workloads of a state.

A read that does takes twice as long with twice the workloads (ADR 0051): it should look into an
index of the fold, or into rows and counts of the database.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headgate

PACKAGE = Path(headgate.__file__).parent
OWN = (
    "domain/cluster_state.py",
    "domain/workload_index.py",
    "domain/scheduling/partition/partition_index.py",
)
"""The package of the live state: the states, and the indices that are built of all of them."""

LISTED = {
    "application/snapshot_store.py": "writes all states into a cache",
    "application/historical_ports.py": "counts and waits of the past, which no row keeps",
    "application/time_travel.py": "the same",
    "application/simulation_run.py": "compares two outcomes on a fork of its own",
    "application/config_history.py": "an administrator asks who still refers to erased contents",
    "bootstrap.py": "finds uploads without a workload every 15 minutes",
    "domain/backtest/recorded_window.py": "a backtest ends everything at the end of its window",
    "domain/what_if.py": "a simulation on a fork of its own stops what is evicting",
}
"""Each with the reason; a read of the present is never one."""

WALKS = frozenset({"values", "items", "keys"})
TAKERS = frozenset(
    {
        "all", "any", "chain", "dict", "each", "enumerate", "filter", "frozenset", "iter", "list",
        "map", "max", "min", "set", "sorted", "sum", "tuple", "zip",
    }
)  # fmt: skip


def scans(source: str) -> Iterator[int]:
    """The lines that go through an attribute `workloads`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=[]) if name in WALKS:
                found: list[ast.expr] = [of]
            case ast.Call(func=ast.Name(id=name), args=given) if name in TAKERS:
                found = list(given)
            case ast.For(iter=of) | ast.comprehension(iter=of) | ast.Starred(value=of):
                found = [of]
            case _:
                continue
        for each in found:
            if isinstance(each, ast.Attribute) and each.attr == "workloads" and _is_state(each):
                yield each.lineno


def _is_state(found: ast.Attribute) -> bool:
    """Whether the owner is a cluster state, by its name: other things have workloads as well."""
    owner = found.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name in {"cluster_state", "state", "live", "self", "run", "cycle", "context"}


def scanning(path: str) -> list[int]:
    """The lines of a module that go through all workloads."""
    return sorted(scans((PACKAGE / path).read_text()))


def test_no_read_goes_through_all_workloads() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): lines
        for folder in ("domain", "application", "api", "adapters")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if (lines := scanning(path.relative_to(PACKAGE).as_posix()))
    }
    assert sorted(found.keys() - {*OWN, *LISTED}) == []


@pytest.mark.parametrize(
    "line",
    [
        "for key in cluster_state.workloads: pass",
        "sorted(services.reader.cluster_state.workloads.items())",
        "tuple(cluster_state.workloads)",
        "[*cluster_state.workloads]",
        "{w.uid for w in self.cluster_state.workloads.values()}",
    ],
)
def test_every_way_to_go_through_them_is_found(line: str) -> None:
    assert list(scans(line)) == [1]


@pytest.mark.parametrize("line", ["cluster_state.workloads[key]", "len(cluster_state.workloads)"])
def test_what_reads_one_workload_is_not_found(line: str) -> None:
    assert list(scans(line)) == []
