"""`headgate node`: what a drain would do, and the drain itself."""

import pytest

from tests.cli.invoking import Invoker

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: old-fan}\nstatus: {allocatable: {cpu: 2}}\n"


@pytest.fixture(autouse=True)
def _a_node(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=NODE)
    headgate("node", "uncordon", "old-fan")


def test_a_dry_run_shows_who_would_move_and_changes_nothing(headgate: Invoker) -> None:
    told = headgate("node", "drain", "old-fan", "--dry-run").stdout

    assert "node/old-fan would be draining (dry run)" in told
    assert headgate.json("node", "drain", "old-fan", "--dry-run")["workloads"] == []
    assert "draining" not in headgate.json("get", "node", "old-fan")["spec"]


def test_a_drain_holds_until_the_node_is_uncordoned(headgate: Invoker) -> None:
    assert "node/old-fan draining" in headgate("node", "drain", "old-fan").stdout
    assert headgate.json("get", "node", "old-fan")["spec"]["draining"] is True

    headgate("node", "uncordon", "old-fan")

    assert "draining" not in headgate.json("get", "node", "old-fan")["spec"]
