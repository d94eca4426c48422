"""Pods go where their runtime is: a RuntimeClass's selector and tolerations join their own."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.kubernetes_kinds import (
    RuntimeClassSpec,
    RuntimeScheduling,
    runtime_class_violations,
)
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.values.selectors import Toleration
from headgate.domain.workloads.pods.limit_ranges import (
    NO_BOUNDS,
    completed_template,
    pod_runtime_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.messages.catalogue import remedy_of, text_of
from tests.builders.instants import T0
from tests.builders.world import World, quotas

SANDBOX = Toleration(key="sandbox", operator="Exists")


def runtimes(*tolerations: Toleration, **selector: str) -> dict[str, Any]:
    """One RuntimeClass, `kata`, by name."""
    scheduling = RuntimeScheduling(node_selector=selector, tolerations=tolerations)
    spec = RuntimeClassSpec(handler="kata", scheduling=scheduling)
    return {"kata": Configured(name="kata", uid="uid-kata", created_at=T0, spec=spec)}


def asking(**pod: Any) -> WorkloadSpec:
    """A workload of one pod of the runtime `kata`, read as the product reads it."""
    container = {"name": "c", "resources": {"requests": {"gpu": "1"}}}
    template = {"spec": {"runtimeClassName": "kata", "containers": [container], **pod}}
    found = parse_value(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "w", "namespace": "team"},
            "spec": {"podSets": [{"name": "main", "count": 1, "template": template}]},
        }
    )
    assert isinstance(found, Desired), "it breaks no rule"
    spec: WorkloadSpec = found.spec
    return spec


def started(spec: WorkloadSpec) -> dict[str, str]:
    """The flavors that the pods get where one kind of nodes has the runtime and comes second."""
    world = World()
    world.flavor("plain", node_labels={"runtime": "runc"})
    world.flavor("boxes", node_labels={"runtime": "kata"})
    world.cluster_queue("q", quotas(plain=8, boxes=8))
    world.local_queue("lq", "q")
    key = world.submit_pod_sets("w", "lq", *spec.pod_sets)
    world.settle()
    admission = world[key].admission
    assert admission is not None
    return admission.pod_set_assignments[0].flavors


def test_the_runtime_decides_which_flavor_its_pods_get() -> None:
    assert started(asking()) == {"gpu": "plain"}
    steered = with_pod_defaults(asking(), NO_BOUNDS, runtimes(runtime="kata"))
    assert started(steered) == {"gpu": "boxes"}


def test_pods_without_a_place_for_their_runtime_are_told_its_selector() -> None:
    world = World()
    world.flavor("plain", node_labels={"runtime": "runc"})
    world.cluster_queue("q", quotas(plain=8))
    world.local_queue("lq", "q")
    steered = with_pod_defaults(asking(), NO_BOUNDS, runtimes(runtime="kata"))
    key = world.submit_pod_sets("w", "lq", *steered.pod_sets)
    world.settle()
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.blockers[0].message == message(
        "FlavorOutsideNodeSelector", key="runtime", value="kata"
    )


def test_a_pod_that_wants_other_nodes_than_its_runtime_is_reported_where_it_says_so() -> None:
    spec = asking(nodeSelector={"zone": "a", "runtime": "runc"})
    kata = runtimes(runtime="kata", zone="a")
    (found,) = pod_runtime_violations(with_pod_defaults(spec, NO_BOUNDS, kata))
    assert found.pointer == "/spec/podSets/0/template/spec/nodeSelector/runtime"
    assert text_of(found.message) == "RuntimeClass kata requires runtime=kata"
    assert "runtimeClassName" in remedy_of(found.message)


def test_tolerations_of_the_runtime_are_appended_once() -> None:
    own = {"key": "spot", "operator": "Exists"}
    kata = runtimes(SANDBOX)
    (pods,) = with_pod_defaults(asking(tolerations=[own]), NO_BOUNDS, kata).pod_sets
    assert pods.scheduling.tolerations == (Toleration(key="spot", operator="Exists"), SANDBOX)
    shown = completed_template(pods)["spec"]["tolerations"]
    assert shown == [own, {"key": "sandbox", "operator": "Exists"}]
    (known,) = with_pod_defaults(asking(tolerations=shown), NO_BOUNDS, kata).pod_sets
    assert known.scheduling.tolerations == pods.scheduling.tolerations
    assert completed_template(known)["spec"]["tolerations"] == shown


KEYS = st.sampled_from("abc")
SELECTORS = st.dictionaries(KEYS, st.sampled_from("xy"))


@given(SELECTORS, SELECTORS, SELECTORS)
def test_pods_stay_where_they_were_sent_whatever_becomes_of_the_class(
    own: dict[str, str], then: dict[str, str], now: dict[str, str]
) -> None:
    submitted = with_pod_defaults(asking(nodeSelector=own), NO_BOUNDS, runtimes(SANDBOX, **then))
    shown = completed_template(submitted.pod_sets[0])["spec"]
    selector, tolerations = shown.get("nodeSelector", {}), shown["tolerations"]
    for again in (asking(nodeSelector=own), asking(nodeSelector=selector, tolerations=tolerations)):
        assert with_pod_defaults(again, NO_BOUNDS, runtimes(**now), submitted) == submitted
    disagree = any(own.get(key, value) != value for key, value in then.items())
    assert bool(pod_runtime_violations(submitted)) == disagree
    assert submitted.pod_sets[0].scheduling.node_selector == selector == {**own, **then}


def test_a_class_with_an_invalid_selector_is_refused() -> None:
    broken = RuntimeScheduling(node_selector={"a b": "c"}, tolerations=(Toleration(value="x"),))
    found = runtime_class_violations(RuntimeClassSpec(scheduling=broken))
    places = [violation.pointer for violation in found]
    assert places == ["/scheduling/nodeSelector/a b", "/scheduling/tolerations/0/operator"]
