"""The examples of KAI's document on priority and preemptibility, under its default threshold."""

import pytest

from headgate.adapters.manifests.parse import Desired, parse
from headgate.domain.workloads.priority import resolve_priority
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.messages.catalogue import text_of
from tests.builders.config import by_name
from tests.builders.policies import a_priority_class
from tests.manifests.readers import a_manifest, read, refused

CLASSES = by_name(
    a_priority_class("inference", 125),
    a_priority_class("train", 50),
    a_priority_class("build", 100),
)
SWITCH = {"preemption": {"legacyPreemptibility": True}}
POD = "containers: [{name: c, resources: {requests: {cpu: 1}}}]"
HEAD = "apiVersion: scheduling.kai.nvidia.com/v2alpha2\nkind: PodGroup\nmetadata:\n  name: "


def a_pod(group: str, name: str = "p", labels: str = "") -> str:
    """A pod of a group, as KAI marks it."""
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n"
        f"  annotations: {{pod-group-name: {group}}}\n{labels}spec: {{{POD}}}\n"
    )


def an_external_workload(labels: str) -> str:
    """Example 3: a Deployment with labels on its template."""
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: external-workload\nspec:\n"
        f"  template:\n    metadata:\n      labels: {{{labels}}}\n    spec: {{{POD}}}\n"
    )


EXAMPLES = {
    "1": HEAD
    + "high-priority-training\nspec:\n"
    + "  preemptibility: preemptible\n  priorityClassName: inference\n"
    + a_pod("high-priority-training"),
    "2": HEAD
    + "data-processing\nspec:\n"
    + "  preemptibility: non-preemptible\n  priorityClassName: train\n"
    + a_pod("data-processing"),
    "3": an_external_workload(
        "kai.scheduler/preemptibility: non-preemptible, priorityClassName: train"
    ),
    "4": HEAD
    + "default-behavior-workload\nspec:\n  priorityClassName: build\n"
    + a_pod("default-behavior-workload"),
}


def resolved(text: str) -> WorkloadSpec:
    """The spec of a manifest under KAI's classes and its default threshold."""
    rules = read(
        a_manifest("Configuration", "headgate.dev/v1", spec=SWITCH | {})
        | {"metadata": {"name": "default"}}
    ).spec.preemption
    return resolve_priority(read(text).spec, CLASSES, rules=rules, has_explicit_priority=False)


@pytest.mark.parametrize(
    ("example", "name", "expected"),
    [
        ("1", "high-priority-training", (125, "Preemptible", "Spec")),
        ("2", "data-processing", (50, "NonPreemptible", "Spec")),
        ("3", "external-workload", (50, "NonPreemptible", "PodTemplates")),
        ("4", "default-behavior-workload", (100, "NonPreemptible", "LegacyPriority")),
    ],
)
def test_an_example_of_kai_means_what_it_says(
    example: str, name: str, expected: tuple[int, str, str]
) -> None:
    assert read(EXAMPLES[example]).name == name
    found = resolved(EXAMPLES[example])
    assert (found.priority, found.preemptibility, found.preemptibility_source) == expected


def test_below_the_threshold_a_workload_without_a_setting_is_preemptible() -> None:
    """KAI, Default behavior: priority < 100 is preemptible, also with an invalid label."""
    invalid = EXAMPLES["3"].replace("non-preemptible", "maybe")
    for text in (EXAMPLES["4"].replace("build", "train"), invalid):
        found = resolved(text)
        assert (found.preemptibility, found.preemptibility_source) == (
            "Preemptible",
            "LegacyPriority",
        )


def test_a_pod_group_speaks_for_its_pods_wherever_it_stands() -> None:
    """KAI-4: queue, least number and settings of the group, whatever its pods say."""
    group = (
        f"{HEAD}g\nspec:\n  queue: team\n  minMember: 2\n  preemptibility: preemptible\n"
        "  markUnschedulable: true\n"
    )
    labels = "  labels: {kai.scheduler/preemptibility: non-preemptible}\n"
    pods = [a_pod("g", f"p{number}", labels) for number in range(3)]
    for text in (group + "".join(pods), "".join(pods) + "---\n" + group):
        found = read(text)
        (pod_set,) = found.spec.pod_sets
        assert (found.name, found.spec.queue_name) == ("g", "team")
        assert (pod_set.count, pod_set.min_count) == (3, 2)
        assert found.spec.preemptibility == "Preemptible"
        assert found.labels["headgate.dev/kind"] == "PodGroup"
        assert [text_of(one.message) for one in found.warnings] == [
            "markUnschedulable has no effect here"
        ]


def test_a_pod_group_without_enough_pods_is_refused() -> None:
    alone = refused(f"{HEAD}g\nspec: {{minMember: 2}}\n")
    assert list(alone) == ["/kind"]
    assert "annotation pod-group-name: g" in alone["/kind"]
    few = refused(f"{HEAD}g\nspec: {{minMember: 2}}\n{a_pod('g')}")
    assert list(few) == ["/spec/minMember"]
    parts = refused(f"{HEAD}g\nspec: {{subGroups: [{{name: a}}]}}\n{a_pod('g')}")
    assert list(parts) == ["/spec/subGroups"]


def test_groups_of_other_names_and_namespaces_stay_apart() -> None:
    text = EXAMPLES["1"] + "---\n" + EXAMPLES["2"] + a_pod("alone")
    found = parse(text.encode())
    assert [one.name for one in found if isinstance(one, Desired)] == [
        "high-priority-training",
        "data-processing",
        "alone",
    ]
