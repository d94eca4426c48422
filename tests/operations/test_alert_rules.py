"""Alert rules fire on recorded series when they should, and not before."""

import json
import re
from typing import Any

import pytest
import yaml

from tests.architecture.sources import ROOT
from tests.operations.alert_rules import Expression, firing, minutes_of, recorded

DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\b(?:kueue|headgate)_[a-z_]+\b")
RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
CASES = [
    pytest.param(test["input_series"], case, id=f"{case['alertname']}-{case['eval_time']}")
    for test in yaml.safe_load((DEPLOY / "alerts_test.yaml").read_text())["tests"]
    for case in test["alert_rule_test"]
]


@pytest.mark.parametrize(("inputs", "case"), CASES)
def test_a_rule_fires_as_recorded(inputs: list[dict[str, str]], case: dict[str, Any]) -> None:
    found = firing(RULES[case["alertname"]], recorded(inputs), minutes_of(case["eval_time"]))
    assert found == [each["exp_labels"] for each in case["exp_alerts"]]


def test_every_rule_is_seen_to_fire_and_to_be_silent() -> None:
    seen: dict[str, set[bool]] = {name: set() for name in RULES}
    for _, case in (each.values for each in CASES):
        assert isinstance(case, dict)
        seen[case["alertname"]].add(bool(case["exp_alerts"]))
    assert [name for name, fired in seen.items() if fired != {True, False}] == []


def test_boards_and_rules_name_only_metrics_that_are_promised() -> None:
    promised = set(json.loads((ROOT / "docs" / "stable_surface.json").read_text())["metrics"])
    asked = {
        re.sub("_(bucket|sum|count)$", "", name)
        for file in ("alerts.yaml", "alerts_test.yaml", "dashboard.json")
        for name in METRIC.findall((DEPLOY / file).read_text())
    }
    assert len(asked) > 20
    assert sorted(asked - promised) == []


def test_a_sample_is_stale_after_five_minutes() -> None:
    series = recorded([{"series": "up", "values": "1x1 _x10"}])
    present = [bool(Expression("up > 0").at(series, minute)) for minute in range(9)]
    assert present == [True] * 6 + [False] * 3


def test_what_the_evaluator_does_not_know_is_refused() -> None:
    for text in (
        "increase(up[5m]) > 0",
        "up or down",
        "up / 2 > 0",
        'up{a=~"b"} > 0',
        "up > on() down",
    ):
        with pytest.raises(AssertionError):
            Expression(text).at({}, 0)
