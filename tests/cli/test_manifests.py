"""Manifests between files and server: what differs, what is pruned, and what is exported."""

from pathlib import Path

import pytest

from headgate.client.client import HeadgateClient
from tests.cli.invocation import Invoker

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: site}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu-hosts, labels: {team: vision}}
spec: {topologyName: site, nodeLabels: {tier: gpu}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: all, labels: {team: vision}}
spec: {fairSharing: {weight: "2"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision, labels: {team: vision}}
spec:
  cohortName: all
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: gpu-hosts
      resources:
      - {name: cpu, nominalQuota: 2500m}
      - {name: memory, nominalQuota: 4Gi, lendingLimit: 1024Mi}
  preemption: {withinClusterQueue: LowerPriority}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: vision, namespace: team-a, labels: {team: vision}}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 100
description: "deadlines"
---
apiVersion: v1
kind: Node
metadata: {name: host-1, labels: {rack: r1, tier: gpu, kubernetes.io/hostname: host-1}}
spec: {taints: [{key: spot, effect: NoSchedule}]}
status: {allocatable: {cpu: 4, memory: 8Gi}}
"""
CREATED = 7
TIGHTER = QUEUES.replace("nominalQuota: 2500m", "nominalQuota: 2")
ONE_MORE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: more, labels: {team: vision}}
"""


@pytest.fixture(scope="module", autouse=True)
def configured(client: HeadgateClient) -> None:
    outcomes = [result.outcome for result in client.apply(QUEUES.encode()).results]
    assert outcomes == ["created"] * CREATED


def outcomes_of(headgate: Invoker, manifests: str) -> set[str]:
    lines = headgate("apply", "-f", "-", given=manifests).stdout.splitlines()
    assert len(lines) >= CREATED - 1
    return {line.rpartition(" ")[2] for line in lines}


def test_what_is_exported_is_unchanged_when_it_is_applied_again(headgate: Invoker) -> None:
    exported = headgate("export").stdout
    assert exported.count("---\n") >= CREATED
    for name in ("resourceVersion", "uid", "creationTimestamp"):
        assert name not in exported
    assert outcomes_of(headgate, exported) == {"unchanged"}


def test_an_export_is_of_the_kinds_and_labels_that_are_asked_for(headgate: Invoker) -> None:
    exported = headgate("export", "cq", "lq", "-l", "team=vision").stdout
    assert [line for line in exported.splitlines() if line.startswith("kind:")] == [
        "kind: ClusterQueue",
        "kind: LocalQueue",
    ]
    assert headgate("export", "cohort", "-l", "team=none").stdout == ""


def test_a_difference_is_shown_line_by_line_and_nothing_changes(
    headgate: Invoker, client: HeadgateClient
) -> None:
    before = client.head()
    shown = headgate("diff", "-f", "-", code=1, given=TIGHTER + ONE_MORE).stdout.splitlines()
    assert "--- server/clusterqueue/vision" in shown
    assert "-      - name: cpu" not in shown
    changed = [line.split() for line in shown if line[:1] in "+-" and "nominalQuota" in line]
    assert changed == [["-", "nominalQuota:", "2500m"], ["+", "nominalQuota:", "2"]]
    assert "+++ file/cohort/more" in shown
    assert "+  name: more" in shown
    assert not any("localqueue" in line for line in shown)
    assert client.head() == before


def test_no_difference_is_no_failure(headgate: Invoker) -> None:
    assert headgate("diff", "-f", "-", given=QUEUES).stdout == ""
    headgate("diff", "-f", "-", code=8, given=QUEUES.replace("2500m", "many"))


def test_pruning_deletes_what_has_the_label_and_is_in_no_file(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=ONE_MORE)
    asked = ("apply", "-f", "-", "--prune", "-l", "team=vision")
    tried = headgate(*asked, "--dry-run", given=QUEUES).stdout.splitlines()
    assert tried[-1] == "cohort/more would be deleted (dry run)"
    done = headgate(*asked, given=QUEUES).stdout.splitlines()
    assert done[-1] == "cohort/more deleted"
    assert "unchanged" in headgate(*asked, given=QUEUES).stdout.splitlines()[-1]
    headgate("get", "cohort/more", code=3)
    headgate("get", "wpc/urgent")


def test_pruning_is_refused_or_simulated_before_anything_is_applied(
    headgate: Invoker, client: HeadgateClient
) -> None:
    headgate("apply", "-f", "-", given=ONE_MORE)
    before = client.head()
    asked = ("apply", "-f", "-", "--prune", "-l")
    headgate(*asked, "team=(", code=8, given=TIGHTER)
    told = headgate(*asked, "team=vision", "--dry-run=client", code=2, given=TIGHTER).stderr
    assert "Use --dry-run=server" in told
    simulated = headgate(*asked, "team=vision", "--dry-run=admission", given=TIGHTER)
    assert "No other workloads affected." in simulated.stdout
    assert client.head() == before
    headgate("delete", "cohort/more")


def test_files_without_objects_and_broken_ones_are_told_by_name_and_line(
    headgate: Invoker, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("\n")
    assert f"no objects in {empty}" in headgate("apply", "-f", str(empty), code=2).stderr
    told = headgate("apply", "-f", "-", "--dry-run=client", code=8, given="kind: [\n").stderr
    assert told == "Error: invalid YAML at line 2, column 1: did not find expected node content\n"


@pytest.mark.parametrize("options", [("--prune",), ("-l", "team=vision")])
def test_pruning_needs_a_selector_and_a_selector_pruning(
    headgate: Invoker, options: tuple[str, ...]
) -> None:
    said = headgate("apply", "-f", "-", *options, code=2, given=QUEUES).stderr
    assert "--prune and -l SELECTOR" in said
