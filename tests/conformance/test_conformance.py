"""What agrees with Kueue goes on agreeing, and the runner tells right from wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT
from tests.conformance.__main__ import FOLDER
from tests.conformance.cases import case_files, read_cases
from tests.conformance.pass_counts import passing, recorded
from tests.conformance.rules import RULES
from tests.conformance.verdicts import Verdict, avoided_traps, judge, listed_rules


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """The verdict on every case; a test that needs them is skipped where the corpus is absent."""
    files = case_files(FOLDER) if FOLDER.is_dir() else []
    if not files:
        pytest.skip(f"the conformance corpus is absent: {FOLDER}")
    return [judge(case) for path in files for case in read_cases(path)]


def test_no_file_has_fewer_passing_cases_than_recorded(verdicts: list[Verdict]) -> None:
    now = passing(verdicts)
    at_hand = {verdict.file for verdict in verdicts}
    fewer = {
        file: f"{now.get(file, 0)} pass, {count} did"
        for file, count in recorded().items()
        if file in at_hand and now.get(file, 0) < count
    }
    assert not fewer


def test_no_case_fails(verdicts: list[Verdict]) -> None:
    assert not [v for v in verdicts if v.outcome == "failed"]


def test_no_rule_applies_to_a_case_that_agrees_without_it(verdicts: list[Verdict]) -> None:
    assert not [v for v in verdicts if v.outcome == "passed" and v.rules]


def test_every_listed_rule_is_a_predicate_and_names_a_trap_that_is_documented() -> None:
    listed = listed_rules()
    assert set(listed) == set(RULES)
    documented = "".join(
        (ROOT / "docs" / "semantics" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("queueing", "topology", "preemption")
    )
    for name, rule in listed.items():
        known = rule.trap in avoided_traps() or f"{rule.trap}" in documented
        assert not rule.trap or known, name


@pytest.mark.parametrize(
    ("number", "held_by"), [(n, t.held_by) for n, t in avoided_traps().items()]
)
def test_every_trap_is_held_off_by_a_test_that_exists(number: str, held_by: str) -> None:
    path, _, name = held_by.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), number


def test_a_case_with_the_right_answer_passes_and_one_with_a_wrong_answer_fails(
    tmp_path: Path,
) -> None:
    verdicts = [judge(case) for case in read_cases(written(tmp_path, right=10_000, wrong=9_000))]
    assert [verdict.outcome for verdict in verdicts] == ["passed", "failed"]


def test_a_case_that_needs_a_feature_we_lack_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, gates=["Unheard=true"], right=10_000)
    (verdict,) = [judge(case) for case in read_cases(path)]
    assert verdict.outcome == "skipped"


def written(folder: Path, gates: list[str] | None = None, **cases: int) -> Path:
    """A file of cases in which a ClusterQueue of ten cores is wanted to have so much available."""
    quota = {"name": "cpu", "nominalQuota": "10"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "red", "resources": [quota]}]}
    queue = {"metadata": {"name": "a"}, "spec": {"resourceGroups": [group]}}
    path = folder / "cache-TestAvailable.json"
    document = {
        "source": "pkg/cache/scheduler/cache_test.go:TestAvailable",
        "class": "A",
        "cases": [
            {
                "name": name,
                "nonDefaultGates": gates or [],
                "inputs": {"clusterQueues": [queue]},
                "want": _wanted(amount),
            }
            for name, amount in cases.items()
        ],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _wanted(amount: int) -> dict[str, Any]:
    amounts = {"a": {"red": {"cpu": amount}}}
    return {"wantAvailable": amounts, "wantPotentiallyAvailable": amounts}
