"""What namespaces and runtimes say about the pods of a workload."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.kubernetes_kinds import (
    LimitRangeCreated,
    LimitRangeItem,
    LimitRangeSpec,
    RuntimeClassSpec,
    limit_range_violations,
)
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.pods.limit_ranges import (
    NO_BOUNDS,
    completed_template,
    limit_range_bounds,
    pod_limit_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.messages.catalogue import remedies_of
from tests.builders.instants import T0
from tests.builders.world import World, quotas


def a_range(*items: LimitRangeItem, namespace: str = "team-a") -> dict[str, Any]:
    """LimitRanges of a namespace by key, one for each item."""
    return {
        f"{namespace}/{number}": Configured(
            name=str(number),
            namespace=namespace,
            uid=f"uid-{number}",
            created_at=T0,
            spec=LimitRangeSpec(limits=(item,)),
        )
        for number, item in enumerate(items)
    }


def a_runtime(name: str, **overhead: int) -> dict[str, Any]:
    spec = RuntimeClassSpec(handler=name, overhead=overhead)
    return {name: Configured(name=name, uid=f"uid-{name}", created_at=T0, spec=spec)}


def asking(pod: dict[str, Any] | None = None, **resources: dict[str, str]) -> WorkloadSpec:
    """A workload of one pod with one container of these resources, read as the product reads it."""
    container = {"name": "c", "resources": resources}
    template = {"spec": {"containers": [container], **(pod or {})}}
    found = parse_value(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": "team-a"},
            "spec": {"podSets": [{"name": "main", "count": 1, "template": template}]},
        }
    )
    assert isinstance(found, Desired), "it breaks no rule"
    spec: WorkloadSpec = found.spec
    return spec


USUAL = LimitRangeItem(default={"cpu": 2000}, default_request={"cpu": 500}, max={"cpu": 4000})


def requests_of(spec: WorkloadSpec) -> dict[str, int]:
    return spec.pod_sets[0].scheduling.requests


def test_containers_that_say_nothing_get_the_requests_of_their_namespace() -> None:
    ranges = a_range(USUAL)
    silent = with_pod_defaults(asking(), limit_range_bounds(ranges, "team-a"), {})
    assert requests_of(silent) == {"cpu": 500}
    elsewhere = with_pod_defaults(asking(), limit_range_bounds(ranges, "team-b"), {})
    assert requests_of(elsewhere) == {}


def test_what_a_container_states_precedes_the_default() -> None:
    stated = asking(requests={"cpu": "1500m", "memory": "1Gi"})
    found = with_pod_defaults(stated, limit_range_bounds(a_range(USUAL), "team-a"), {})
    assert requests_of(found) == {"cpu": 1500, "memory": 2**30}


def test_a_stated_limit_precedes_the_default_request_of_the_namespace() -> None:
    """Kueue 0.20, change 32 (#15023): less was charged than the pod may use."""
    stated = asking(limits={"cpu": "3"})
    (found,) = with_pod_defaults(stated, limit_range_bounds(a_range(USUAL), "team-a"), {}).pod_sets
    assert found.scheduling.requests == {"cpu": 3000}
    (container,) = completed_template(found)["spec"]["containers"]
    assert container["resources"] == {"limits": {"cpu": "3"}}


@pytest.mark.parametrize(("pod_level", "counted"), [("1", 3000), ("4", 4000)])
def test_the_greater_of_pod_level_and_containers_counts(pod_level: str, counted: int) -> None:
    """Kueue 0.20, change 33 (#16047)."""
    beside = {"name": "d", "resources": {"requests": {"cpu": "1"}}}
    first = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    pod = {"containers": [first, beside], "resources": {"requests": {"cpu": pod_level}}}
    assert requests_of(asking(pod)) == {"cpu": counted}


@pytest.mark.parametrize("field", ["default", "default_request"])
def test_a_range_for_pods_gives_no_defaults(field: str) -> None:
    """Kubernetes, ValidateLimitRange: defaults may not be given where the type is Pod."""
    item = LimitRangeItem(type="Pod", **{field: {"cpu": 1}})
    (found,) = limit_range_violations(LimitRangeSpec(limits=(item,)))
    assert (found.message.code, found.pointer.rpartition("/")[0]) == (
        "PodLimitWithDefaults",
        "/spec/limits/0",
    )


def test_a_runtime_adds_its_overhead_unless_the_pod_states_one() -> None:
    runtimes = a_runtime("sandboxed", cpu=250)
    plain = asking({"runtimeClassName": "sandboxed"}, requests={"cpu": "1"})
    assert requests_of(with_pod_defaults(plain, NO_BOUNDS, runtimes)) == {"cpu": 1250}
    own = {"runtimeClassName": "sandboxed", "overhead": {"cpu": "10m"}}
    stated = asking(own, requests={"cpu": "1"})
    assert requests_of(with_pod_defaults(stated, NO_BOUNDS, runtimes)) == {"cpu": 1010}
    unknown = asking({"runtimeClassName": "other"}, requests={"cpu": "1"})
    assert requests_of(with_pod_defaults(unknown, NO_BOUNDS, runtimes)) == {"cpu": 1000}


def test_the_executor_is_told_the_defaulted_amounts() -> None:
    asked = asking({"runtimeClassName": "sandboxed"})
    bounds = limit_range_bounds(a_range(USUAL), "team-a")
    (found,) = with_pod_defaults(asked, bounds, a_runtime("sandboxed", cpu=250)).pod_sets
    pod = completed_template(found)["spec"]
    assert pod["overhead"] == {"cpu": "250m"}
    (container,) = pod["containers"]
    assert container["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "2"}}
    assert found.template == asked.pod_sets[0].template, "what was submitted is kept as it was"


def test_pods_keep_what_they_got_when_the_range_changes() -> None:
    before = with_pod_defaults(asking(), limit_range_bounds(a_range(USUAL), "team-a"), {})
    later = limit_range_bounds(a_range(LimitRangeItem(default_request={"cpu": 9})), "team-a")
    assert with_pod_defaults(asking(), later, {}, before) == before
    (pod_set,) = before.pod_sets
    shown = completed_template(pod_set)["spec"]["containers"][0]["resources"]
    assert with_pod_defaults(asking(**shown), NO_BOUNDS, {}, before) == before


@pytest.mark.parametrize(
    ("item", "resources", "place"),
    [
        (
            LimitRangeItem(max={"cpu": 300}),
            {"requests": {"cpu": "500m"}},
            "/containers/0/resources",
        ),
        (LimitRangeItem(max={"cpu": 300}), {"limits": {"cpu": "500m"}}, "/containers/0/resources"),
        (LimitRangeItem(min={"cpu": 300}), {"requests": {"cpu": "1m"}}, "/containers/0/resources"),
        (LimitRangeItem(type="Pod", max={"cpu": 300}), {"requests": {"cpu": "1"}}, ""),
        (LimitRangeItem(type="Pod", min={"cpu": 300}), {"requests": {"cpu": "1m"}}, ""),
        (
            LimitRangeItem(max_limit_request_ratio_milli={"cpu": 2000}),
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "/containers/0/resources/limits/cpu",
        ),
    ],
)
def test_pods_outside_their_range_are_reported_where(
    item: LimitRangeItem, resources: dict[str, Any], place: str
) -> None:
    bounds = limit_range_bounds(a_range(item), "team-a")
    (found,) = pod_limit_violations(asking(**resources), bounds)
    assert found.pointer == f"/spec/podSets/0/template/spec{place}"
    assert pod_limit_violations(asking(), bounds) == (), "what is not asked for is not bounded"


def test_a_request_above_the_limit_that_the_namespace_gives_is_refused() -> None:
    bounds = limit_range_bounds(a_range(LimitRangeItem(default={"cpu": 100})), "team-a")
    asked = with_pod_defaults(asking(requests={"cpu": "1"}), bounds, {})
    (found,) = pod_limit_violations(asked, bounds)
    assert found.pointer.endswith("/containers/0/resources/requests/cpu")


@given(
    st.lists(st.builds(LimitRangeItem, max=st.dictionaries(st.just("cpu"), st.integers(0, 9)))),
    st.integers(0, 9),
)
def test_of_several_ranges_every_bound_holds(items: list[LimitRangeItem], milli: int) -> None:
    asked = asking(requests={"cpu": f"{milli}m"})
    together = pod_limit_violations(asked, limit_range_bounds(a_range(*items), "team-a"))
    alone = [
        pod_limit_violations(asked, limit_range_bounds(a_range(item), "team-a")) for item in items
    ]
    assert bool(together) == any(alone)


def test_a_range_with_crossing_bounds_is_refused() -> None:
    crossed = LimitRangeItem(min={"cpu": 2}, max={"cpu": 1})
    (found,) = limit_range_violations(LimitRangeSpec(limits=(crossed,)))
    assert found.pointer == "/spec/limits/0/min/cpu"


def test_a_tightened_range_becomes_the_pending_reason() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas(one=1))
    world.local_queue("lq", "q")
    key = world.submit_pod_sets("w", "lq", *asking(requests={"gpu": "1"}).pod_sets)
    tighter = LimitRangeSpec(limits=(LimitRangeItem(max={"gpu": 0}),))
    created = LimitRangeCreated(uid="uid-r", name="r", namespace="team", spec=tighter)
    world.record("limitrange/team/r", created)
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.dominant == "OutsideLimitRange"
    assert "Widen the LimitRange" in remedies_of(found)[0]
