"""`headgate view` and `get wl --view`: views of the list of workloads, shared with the page."""

from urllib.parse import parse_qs

import pytest

from headgate.client.client import HeadgateClient
from tests.cli.invocation import Invoker

OBJECTS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: viewed}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: viewed}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: viewed, resources: [{name: cpu, nominalQuota: 0}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: viewed, namespace: default}
spec: {clusterQueue: viewed}
"""


WORKLOAD = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: {name}, namespace: default}}
spec:
  queueName: viewed
  priority: {priority}
  podSets:
  - name: main
    count: 1
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]}}}}
"""


@pytest.fixture(autouse=True)
def _workloads(headgate: Invoker) -> None:
    wanted = (("low-view", 1), ("high-view", 9), ("other", 5))
    objects = (WORKLOAD.format(name=name, priority=priority) for name, priority in wanted)
    headgate("apply", "-f", "-", given=OBJECTS + "".join(objects))


def test_a_saved_view_filters_orders_and_chooses_columns(
    headgate: Invoker, client: HeadgateClient
) -> None:
    told = headgate(
        *("view", "save", "mine", "--filter", "view queue:viewed", "--sort", "-priority"),
        *("--columns", "priority,cpu", "--share"),
    )
    assert told.stdout.strip() == "view/mine saved"

    lines = headgate("get", "wl", "--view", "mine").stdout.splitlines()

    assert lines[0].lower().split() == ["phase", "name", "cpu", "priority"]
    assert [line.split()[1:] for line in lines[1:]] == [
        ["default/high-view", "1", "9"],
        ["default/low-view", "1", "1"],
    ]
    rows = headgate.json("get", "workloads", "--view", "mine")["items"]
    assert [row["name"] for row in rows] == ["high-view", "low-view"]
    names = headgate("get", "wl", "--view", "mine", "-o", "name").stdout.split()
    assert names == ["workload/high-view", "workload/low-view"]
    (kept,) = client.read("/v1/views")["items"]
    assert parse_qs(kept["query"]) == {
        "filter": ["view queue:viewed"],
        "sort": ["-priority"],
        "columns": ["phase,name,cpu,priority"],
    }
    row = headgate("view", "list").stdout.splitlines()[1]
    assert row.startswith("mine")
    assert "yes" in row
    headgate("view", "delete", "mine")
    assert headgate.json("view", "list")["items"] == []


def test_the_rows_of_a_group_stand_together(headgate: Invoker) -> None:
    headgate("view", "save", "groups", "--filter", "queue:viewed", "--group", "priority")

    lines = headgate("get", "wl", "--view", "groups").stdout.splitlines()

    column = lines[0].lower().split().index("priority")
    assert sorted(line.split()[column] for line in lines[1:]) == ["1", "5", "9"]
    headgate("view", "delete", "groups")


def test_what_a_view_cannot_show_is_refused_before_it_is_saved(headgate: Invoker) -> None:
    saving = ("view", "save", "wrong", "--filter")
    assert "/filter: Must be an integer" in headgate(*saving, "gpu:many", code=8).stderr
    assert "Use queue" in headgate(*saving, "x", "--group", "color", code=2).stderr
    assert "unknown: color" in headgate(*saving, "x", "--columns", "gpu,color", code=2).stderr
    assert headgate.json("view", "list")["items"] == []


def test_a_view_that_is_not_there_or_does_not_fit_is_refused(headgate: Invoker) -> None:
    absent = headgate("get", "wl", "--view", "nothing", code=3).stderr
    assert "headgate view save nothing" in absent
    assert "only workloads" in headgate("get", "cq", "--view", "x", code=2).stderr
    both = headgate("get", "wl", "--view", "x", "--phase", "Pending", code=2).stderr
    assert "its own filter" in both
    headgate("view", "delete", "nothing", code=3)
