"""What an author wrote is kept to the letter, read as the spec, and shown again."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.manifests.codec import Extras
from headgate.adapters.manifests.parse import SERVER_OWNED, Desired, parse_value, written_body
from headgate.adapters.manifests.registry import CODECS_BY_NAME
from headgate.adapters.manifests.render import render, render_written
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.object_commands import Create
from headgate.domain.kinds.registry import KINDS_BY_NAME
from tests.api.test_objects import EXAMPLES
from tests.builders.instants import T0
from tests.manifests.drawing.objects import configured_objects


def created(manifest: dict[str, Any]) -> tuple[Configured[Any], bytes]:
    """The object that a manifest creates, and what is kept of the manifest."""
    desired = parse_value(manifest)
    assert isinstance(desired, Desired), desired
    kind = KINDS_BY_NAME[desired.kind]
    command: Create[Any] = Create(
        uid="u",
        name=desired.name,
        namespace=desired.namespace,
        labels=desired.labels,
        annotations=desired.annotations,
        spec=desired.spec,
    )
    (event,) = kind.decide(kind.initial_state, command, T0)
    state = kind.evolve(kind.initial_state, event, T0)
    assert isinstance(state, Configured)
    return state, desired.written


def shown_parts(manifest: dict[str, Any]) -> str:
    """The parts that an author writes, to the letter and in their order."""
    metadata = {
        name: value
        for name, value in manifest["metadata"].items()
        if name not in SERVER_OWNED or name in {"labels", "annotations"}
    }
    parts = {name: value for name, value in manifest.items() if name not in {"metadata", "status"}}
    return json.dumps({**parts, "metadata": dict(sorted(metadata.items()))})


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=list(EXAMPLES))
def test_an_example_of_every_kind_is_shown_as_it_was_written(example: dict[str, Any]) -> None:
    annotated = {**example["metadata"], "annotations": {"z": "1", "a": " 2\n"}, "finalizers": ["f"]}
    manifest = {**example, "metadata": annotated}
    state, body = created(manifest)

    shown = render_written(manifest["kind"], state, 7, body)

    assert shown_parts(shown) == shown_parts(manifest)
    assert shown["metadata"]["uid"] == "u"


@given(configured_objects(), st.randoms(use_true_random=False))
def test_any_object_is_shown_as_it_was_written_and_reads_as_its_spec(
    found: tuple[str, Any], random: Any
) -> None:
    kind, drawn = found
    rendered = render(kind, drawn, 7)
    status = {"status": rendered["status"]} if kind == "Node" and "status" in rendered else {}
    plain = {name: value for name, value in rendered.items() if name != "status"}
    manifest = _respelled({**plain, **status}, random)
    state, body = created(manifest)

    shown = render_written(kind, state, 7, body)

    assert shown_parts(shown) == shown_parts(manifest)
    again, kept = created({**shown, **status})
    assert again.spec == state.spec
    assert kept == body == written_body(manifest)


@given(configured_objects())
def test_what_is_not_kept_is_shown_with_every_default(found: tuple[str, Any]) -> None:
    kind, state = found
    assert render_written(kind, state, 7, None) == render(kind, state, 7)


def test_a_body_that_breaks_the_rules_of_today_is_shown_from_the_spec() -> None:
    manifest = EXAMPLES["clusterqueues"]
    state, _ = created(manifest)
    body = written_body({**manifest, "spec": {"noSuchField": 1}})

    assert render_written("ClusterQueue", state, 7, body) == render("ClusterQueue", state, 7)


@pytest.mark.parametrize("kind", ["ResourceFlavor", "Cohort"])
def test_a_spec_that_was_not_written_is_shown_empty(kind: str) -> None:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "plain"}}
    state, body = created(head)

    shown = render_written(kind, state, 7, body)

    assert shown["spec"] == {}
    msgspec.convert(shown, CODECS_BY_NAME[kind].schema)


def test_amounts_are_shown_as_the_numbers_they_were_written_as() -> None:
    limits = [{"type": "Container", "max": {"cpu": 100, "memory": 0.5}}]
    metadata = {"name": "plain", "namespace": "team-a"}
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata}
    state, body = created({**head, "spec": {"limits": limits}})

    shown = render_written("LimitRange", state, 7, body)

    assert shown["spec"]["limits"] == limits
    msgspec.convert(shown, CODECS_BY_NAME["LimitRange"].schema)


def test_a_change_since_is_shown_beside_what_was_written() -> None:
    manifest = EXAMPLES["clusterqueues"]
    state, body = created(manifest)
    stopped = msgspec.structs.replace(
        state, spec=msgspec.structs.replace(state.spec, stop_policy="Hold")
    )

    shown = render_written("ClusterQueue", stopped, 7, body)["spec"]

    assert shown == {**manifest["spec"], "stopPolicy": "Hold"}
    full = CODECS_BY_NAME["ClusterQueue"].render(stopped, Extras())["spec"]
    assert set(shown) < set(full)


def _respelled(value: Any, random: Any) -> Any:
    """The same value with keys in another order and quantities spelled otherwise."""
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {name: _respelled(value[name], random) for name in names}
    if isinstance(value, list):
        return [_respelled(each, random) for each in value]
    return value
