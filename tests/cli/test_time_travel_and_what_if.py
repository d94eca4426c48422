"""The command line sees the past with `--at`, and the future with `simulate`."""

from pathlib import Path

import pytest

from headgate.cli.commands.wait import goal_of, wait_for
from headgate.client.client import HeadgateClient
from tests.builders.documents import queue_documents
from tests.cli.invocation import Invoker
from tests.processes.programs import wait_until

OBJECTS = queue_documents(
    "small",
    local="main",
    namespace="default",
    cpu=4,
    preemption={"withinClusterQueue": "LowerPriority"},
)


HOLDER = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: holder, namespace: default}
spec:
  queueName: main
  podSets:
  - name: main
    count: 4
    template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}
"""


@pytest.fixture(scope="module", autouse=True)
def objects(client: HeadgateClient) -> int:
    """A queue that one workload fills; the position before it was submitted."""
    client.apply(OBJECTS.encode())
    before = client.head()
    client.apply(HOLDER.encode())
    wait_for(client, "default/holder", goal_of("condition=Admitted"), 30)
    return before


def test_the_past_is_shown_as_it_was(headgate: Invoker, objects: int) -> None:
    assert "holder" in headgate("get", "wl").stdout
    before = headgate("get", "wl", "--at", str(objects))
    assert "holder" not in before.stdout
    assert f"Past state at position {objects}" in before.stderr
    headgate("why", "holder", "--at", str(objects), code=3)


def test_nothing_is_written_in_the_past(headgate: Invoker, objects: int) -> None:
    refused = headgate("submit", "--queue", "main", "--cpu", "1", "--at", str(objects), code=8)
    assert "the past cannot be changed" in refused.stderr


def test_a_submit_is_simulated(headgate: Invoker, client: HeadgateClient) -> None:
    head = client.head()
    asked = ("submit", "--queue", "main", "--cpu", "2", "--name", "asked")
    told = headgate(*asked, "--dry-run=admission")
    assert "default/asked would stay pending" in told.stdout
    assert "queue position 1 of 1" in told.stdout
    assert client.head() == head


def test_a_script_learns_by_the_exit_code_that_a_simulation_is_not_as_expected(
    headgate: Invoker,
) -> None:
    asked = ("submit", "--queue", "main", "--cpu", "2", "--name", "asked", "--simulate")
    told = headgate(*asked, "--expect", "admitted", code=7)
    assert "Expectation not met: default/asked would not be admitted at once" in told.stderr
    assert "default/asked would stay pending" in told.stdout
    headgate(*asked, "--expect", "no-evictions")
    headgate(*asked)


def test_a_preempting_workload_is_admitted_in_the_end_and_not_without_evictions(
    headgate: Invoker, tmp_path: Path
) -> None:
    urgent = tmp_path / "urgent.yaml"
    urgent.write_text(
        HOLDER.replace("holder", "urgent").replace("podSets:", "priority: 9\n  podSets:")
    )
    asked = ("simulate", "-f", str(urgent), "--expect", "admitted-in-the-end")
    headgate(*asked)
    told = headgate(*asked, "--expect", "admitted", "--expect", "no-evictions", code=7)
    assert "would not be admitted at once" in told.stderr
    assert "Expectation not met: evictions: 1" in told.stderr


def test_an_expectation_of_workloads_is_not_met_by_none(headgate: Invoker) -> None:
    trial = ("simulate", "--delete", "localqueue/default/main", "--expect", "admitted")
    assert "no workload was simulated" in headgate(*trial, code=7).stderr
    refused = headgate("submit", "--queue", "main", "--cpu", "1", "--expect", "admitted", code=2)
    assert "--expect requires --simulate" in refused.stderr


def test_a_simulation_is_written_as_rows_and_names(headgate: Invoker) -> None:
    asked = ("submit", "--queue", "main", "--cpu", "2", "--name", "asked", "--simulate")
    header, row = headgate(*asked, "-o", "csv").stdout.splitlines()
    assert header == "workload,queue,result,reason"
    assert row.startswith("default/asked,small,would stay pending,")
    assert headgate(*asked, "-o", "name").stdout == "workload/default/asked\n"


def test_a_change_is_simulated(headgate: Invoker) -> None:
    found = headgate.json("simulate", "--delete", "workload/default/holder")
    assert found["events"] > 0
    headgate("simulate", code=2)


def test_simulations_are_listed_with_their_result(headgate: Invoker, tmp_path: Path) -> None:
    urgent = tmp_path / "listed.yaml"
    urgent.write_text(HOLDER.replace("holder", "listed"))
    headgate("simulate", "-f", str(urgent), "--title", "one more")
    before = headgate.json("simulations")["items"]
    headgate("simulate", "-f", str(urgent), "--no-record")
    assert headgate.json("simulations", "--mine")["items"] == before

    listed = headgate("simulations", "--kind", "Workload").stdout
    assert "one more" in listed
    assert "Would stay pending" in listed
    shown = headgate("simulations", before[0]["id"]).stdout
    assert "name: listed" in shown
    headgate("simulations", "none", code=3)


def test_a_cycle_is_listed_opened_and_run_again(headgate: Invoker) -> None:
    # It is kept a moment after its decisions are in the log.
    wait_until(lambda: bool(headgate.json("cycles")["items"]), "the cycle is kept")
    (cycle,) = headgate.json("cycles", "--limit", "1")["items"]
    assert cycle["id"] in headgate("cycles").stdout
    assert f"Input position: {cycle['inputPosition']}." in headgate("cycles", cycle["id"]).stdout
    assert "Replay identical" in headgate("cycles", cycle["id"], "--replay").stdout
    headgate("cycles", "none", code=3)
    total = headgate.json("cycles", "--summary", "--since", "1h")["total"]
    assert total["plans"] == len(headgate.json("cycles", "--limit", "1000")["items"])
    told = headgate("cycles", "--summary").stdout
    assert f"{total['cycles']} in " in told
    assert "Duration:" in told
    headgate("cycles", "--since", "1h", code=2)


def test_the_history_of_an_object_is_reported(headgate: Invoker) -> None:
    (made,) = headgate.json("history", "cq", "small")["items"]
    assert "clusterqueue/small" in headgate("history", "cq", "small").stdout
    assert headgate.json("history", "cq/small")["items"] == [made]
    assert "no changes of clusterqueue/none" in headgate("history", "cq/none", code=3).stderr
    tried = headgate("revert", "cq/small", "--to", str(made["position"]), "--dry-run").stdout
    assert "No other workloads affected" in tried
    assert "specify the object" in headgate("revert", "cq", "--to", "1", code=2).stderr
    told = headgate("revert", "cq", "small", "--to", str(made["position"]), "--dry-run").stdout
    assert "No other workloads affected" in told
