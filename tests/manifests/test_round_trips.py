"""What is shown can be applied again without a change, and nonsense is only ever refused."""

import json
from copy import deepcopy
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.adapters.manifests.fields import duration_of, rfc3339, seconds_of
from headgate.adapters.manifests.parse import Desired, Refused, parse, parse_value
from headgate.adapters.manifests.registry import MANIFEST_KINDS
from headgate.adapters.manifests.render import render
from headgate.adapters.manifests.workload import with_whole_templates
from headgate.api.parameters import instant_or_none
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.object_commands import Change
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import InvalidObject
from headgate.domain.workloads.pods.templates import with_known_templates
from headgate.domain.workloads.priority import resolve_priority
from tests.builders.instants import T0
from tests.builders.workloads import a_workload
from tests.manifests.drawing.objects import configured_objects
from tests.manifests.drawing.workloads import workload_manifests


def as_read(rendered: dict[str, Any]) -> Desired:
    """The manifest after a trip over the wire."""
    (found,) = parse(json.dumps(rendered).encode(), content_type="application/json")
    assert isinstance(found, Desired), found
    return found


@given(configured_objects())
def test_a_configured_object_reads_back_as_it_was_shown(found: tuple[str, Any]) -> None:
    kind, state = found
    desired = as_read(render(kind, state, 7))
    assert (desired.name, desired.namespace) == (state.name, state.namespace)
    assert (desired.uid, desired.resource_version) == (state.uid, "7")
    assert (desired.labels, desired.annotations) == (state.labels, state.annotations)
    kept = {field: getattr(state.spec, field) for field in desired.keeps}
    assert type(desired.spec)(**(_fields(desired.spec) | kept)) == state.spec


@given(configured_objects())
def test_applying_what_is_shown_changes_nothing(found: tuple[str, Configured[Any]]) -> None:
    kind, state = found
    desired = as_read(render(kind, state, 7))
    change: Change[Any] = Change(
        labels=desired.labels,
        annotations=desired.annotations,
        spec=desired.spec,
        keeps=desired.keeps,
    )
    assert KINDS_BY_STREAM[desired.stream_kind].decide(state, change, T0) == ()


@given(workload_manifests())
def test_a_workload_reads_back_as_it_was_shown(manifest: dict[str, Any]) -> None:
    first = parse_value(manifest)
    assert isinstance(first, Desired), first
    spec = resolve_priority(
        first.spec, ObjectSet().workload_priority_classes, has_explicit_priority=True
    )
    workload = a_workload(**_fields(spec))
    bodies = {sha256(body).hexdigest(): body for body in first.templates}
    again = as_read(with_whole_templates(render("Workload", workload, 7), bodies))
    before = workload.spec
    shown = with_known_templates(again.spec, before)
    assert resolve_priority(shown, {}, has_explicit_priority=True, before=before) == before
    assert again.keeps == ()


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


WORDS = st.sampled_from(
    [
        "apiVersion", "kind", "metadata", "spec", "status", "name", "namespace", "labels",
        "annotations", "podSets", "count", "template", "containers", "resources", "requests",
        "cpu", "resourceGroups", "coveredResources", "flavors", "nominalQuota", "levels",
        "nodeLabel", "nodeTaints", "tolerations", "effect", "topologyRequest", "required",
        "preemption", "borrowWithinCohort", "priority", "value", "items", "affinity",
        "nodeAffinity", "replicatedJobs", "parallelism", "admissionChecks", "fairSharing",
        "weight", "namespaceSelector", "matchExpressions", "operator", "values", "timeout",
        "waitForPodsReady", "allocatable", "conditions", "selector", "initContainers", "overhead",
        "podsetSliceRequiredTopologyConstraints", "size", "priorityClassRef", "stopPolicy",
    ]
)  # fmt: skip
NONSENSE = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
        WORDS,
        st.sampled_from(["4Gi", "500m", "-1", "Exists", "In", "NoSchedule", "5m"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=5)),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(MANIFEST_KINDS)), st.dictionaries(WORDS, NONSENSE, max_size=6))
def test_a_nonsense_manifest_is_only_ever_refused(kind: str, parts: dict[str, Any]) -> None:
    version = MANIFEST_KINDS[kind].versions[0]
    found = parse_value({**parts, "apiVersion": version, "kind": kind})
    if isinstance(found, Refused):
        assert found.problem.violations
        assert all(v.pointer == "" or v.pointer[0] == "/" for v in found.problem.violations)


@given(NONSENSE)
def test_nonsense_of_any_shape_is_only_ever_refused(value: Any) -> None:
    assert isinstance(parse_value(value), Refused)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(workload_manifests(), st.data())
def test_a_workload_with_one_part_replaced_by_nonsense_does_no_harm(
    manifest: dict[str, Any], data: st.DataObject
) -> None:
    # Other examples have parts of the same strategies, which must not change.
    manifest = deepcopy(manifest)
    holder: Any = manifest
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        deeper = isinstance(holder[key], dict | list) and holder[key] and data.draw(st.booleans())
        if not deeper:
            holder[key] = data.draw(NONSENSE)
            break
        holder = holder[key]
    found = parse_value(manifest)
    assert isinstance(found, Desired | Refused)


@given(st.integers(0, 10**9))
def test_lengths_of_time_read_back_as_they_are_written(seconds: int) -> None:
    assert seconds_of(duration_of(seconds)) == seconds


@given(st.integers(0, 4_000_000_000))
def test_instants_read_back_as_they_are_written(seconds: int) -> None:
    at = seconds * 1_000_000
    assert instant_or_none(rfc3339(at), "/at") == at


def test_lengths_that_are_none_are_not_read() -> None:
    assert [seconds_of(text) for text in ("", "5", "m", "-5m", "1d", "1500ms", "0")] == [
        None, None, None, None, None, 2, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "soon", "2026-01-01", "2026-01-01T00:00:00"])
def test_instants_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidObject, match="NotTimestamp"):
        instant_or_none(text, "/at")
