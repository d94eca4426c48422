"""Where the priority of a workload comes from (`pkg/util/priority`)."""

from collections.abc import Iterator
from typing import Any

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.rejection import Rejection
from headgate.domain.workloads.priority import DEFAULT_CLASS, resolve_priority, with_priority_boost
from headgate.domain.workloads.specs import (
    PRIORITY_BOOST,
    PodSet,
    PriorityClassReference,
    Scheduling,
    WorkloadSpec,
)
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed, read

Given = dict[str, Any]
IN_THE_LIST = {
    "inputs.setup": "the list has them",
    "checked.tt.wantPriorityClassRef": "the same as wanted",
}
PODS = PodSet(scheduling=Scheduling(requests={}))


def stated(case: Case) -> Iterator[str]:
    """The number that a workload states itself."""
    found = read("Workload", case.inputs["workload"]).spec.priority
    yield from differences("priority", case.want["want"], found)


def boost(case: Case) -> Iterator[str]:
    """What the annotation adds where the Configuration lets it count."""
    value = case.inputs["workload"]
    installed = Installed(boosts_count="PriorityBoost=true" in case.gates)
    installed.add("Workload", value)
    (workload,) = installed.cluster_state.workloads.values()
    added = workload.spec.priority - read("Workload", value).spec.priority
    yield from differences("boost", case.want["wantBoost"], added)


def boosted(case: Case) -> Iterator[str]:
    """The priority that scheduling reads: stated, with the boost where boosts count.

    A boost that cannot be read is refused where a workload is submitted, and adds nothing to one
    that exists.
    """
    is_allowed = "PriorityBoost=true" in case.gates
    value = case.inputs["workload"]
    found = read("Workload", value)
    is_refused = False
    try:
        with_priority_boost(found.spec, found.annotations, {}, is_allowed=is_allowed)
    except Rejection:
        is_refused = True
    if "wantErr" in case.want and found.annotations.get(PRIORITY_BOOST) != "":
        # Kueue's webhook refuses an empty boost before this step would read it as none.
        yield from differences("refused", case.want["wantErr"], is_refused)
    installed = Installed(boosts_count=is_allowed)
    installed.add("Workload", value)
    (workload,) = installed.cluster_state.workloads.values()
    yield from differences("priority", case.want["wantPriority"], workload.spec.priority)


def counts_boosts(case: Case, gate: str) -> bool:
    """Whether a boost counts, of which the case asks."""
    return gate == "PriorityBoost=true"


def of_class(kind: str, field: str) -> Family:
    """The priority class and value of a workload; it or its pods may name a class."""

    def drive(case: Case) -> Iterator[str]:
        name = case.text(f"{field}Name")
        classes = _classes(case.mapped(f"{field}List"))
        named = PriorityClassReference(kind=kind, name=name) if name else None  # type: ignore[arg-type]
        spec = WorkloadSpec(pod_sets=(PODS,), priority_class=named)
        wanted = case.want.get("wantPriorityClassRef") or {}
        value = case.want["wantPriorityClassValue"] or 0
        try:
            found = resolve_priority(spec, classes, has_explicit_priority=False)
        except Rejection:
            yield from differences("refused", case.want["wantErr"] is not None, True)
            return
        yield from differences("refused", case.want["wantErr"] is not None, False)
        reference = found.priority_class
        yield from differences("class", wanted.get("name", ""), reference.name if reference else "")
        yield from differences("value", value, found.priority)

    return Family(drive, unread=IN_THE_LIST)


def default_exists(case: Case) -> Iterator[str]:
    """Whether workloads that name no class get the one named default."""
    classes = _classes(case.mapped("workloadPriorityClassList"))
    spec = resolve_priority(WorkloadSpec(pod_sets=(PODS,)), classes, has_explicit_priority=False)
    is_given = spec.priority_class is not None and spec.priority_class.name == DEFAULT_CLASS
    yield from differences("default", case.want["wantExist"], is_given)


def _classes(listed: Given) -> dict[str, Configured[Any]]:
    """Classes by name; what Kueue's fixtures call in other cases than Kubernetes allows is kept."""
    installed = Installed()
    names = {}
    for value in listed.get("items") or ():
        name = value["metadata"]["name"]
        names[name.lower()] = name
        installed.add("WorkloadPriorityClass", {**value, "metadata": {"name": name.lower()}})
    found = installed.cluster_state.config.workload_priority_classes
    return {names[name]: known for name, known in found.items()}


FAMILIES = {
    "TestPriority": Family(stated),
    "TestPriorityBoost": Family(
        boost, counts_boosts, {"want.wantErr": "a boost that is no number is refused before"}
    ),
    "TestEffectivePriority": Family(boosted, counts_boosts),
    "TestParseEffectivePriority": Family(boosted, counts_boosts),
    "TestGetPriorityFromPriorityClass": of_class("PriorityClass", "priorityClass"),
    "TestGetPriorityFromWorkloadPriorityClass": of_class(
        "WorkloadPriorityClass", "workloadPriorityClass"
    ),
    "TestDefaultWorkloadPriorityClassExist": Family(default_exists, unread=IN_THE_LIST),
}
