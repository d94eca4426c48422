"""Pod templates in two parts, what executors must honour of them, and secrets in them."""

from typing import Any

import msgspec
import pytest

from headgate.domain.values.capabilities import required_capabilities
from headgate.domain.workloads.pods.limit_ranges import completed_template
from headgate.domain.workloads.pods.templates import (
    literal_secrets,
    template_parts,
    whole_template,
)
from tests.builders.workloads import a_pod_set, a_template

ENV = [
    {"name": "API_TOKEN", "value": "x"},
    {"name": "db-password", "value": "x"},
    {"name": "EMPTY_KEY", "value": ""},
    {"name": "BY_SECRET", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}},
    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "KEYBOARD", "value": "us"},
]
WHOLE: dict[str, Any] = {
    "metadata": {"name": "dropped", "labels": {"a": "b"}},
    "spec": {
        "volumes": [{"name": "d", "hostPath": {"path": "/srv"}}],
        "restartPolicy": "Never",
        "containers": [
            {"image": "x", "name": "c", "env": ENV, "resources": {"requests": {"cpu": "1"}}}
        ],
    },
}


def test_the_part_that_rules_read_and_the_whole_make_the_template_again() -> None:
    parts = template_parts(WHOLE)
    pod_set = a_pod_set(template=parts.read, written=parts.written, unread=parts.unread)

    assert parts.read == {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    }
    written = msgspec.json.decode(parts.body)
    assert whole_template(written, completed_template(pod_set)) == WHOLE
    assert list(whole_template(written, parts.read)["spec"]) == list(WHOLE["spec"])


def test_a_template_that_rules_read_whole_is_not_kept_beside_the_log() -> None:
    parts = template_parts(a_template(cpu="1"))

    assert (parts.read, parts.written, parts.body) == (a_template(cpu="1"), "", b"")


@pytest.mark.parametrize("other", [{**WHOLE, "spec": dict(reversed(WHOLE["spec"].items()))}])
def test_the_order_of_keys_changes_what_is_kept_and_not_what_it_says(
    other: dict[str, Any],
) -> None:
    assert template_parts(other).unread == template_parts(WHOLE).unread
    assert template_parts(other).written != template_parts(WHOLE).written


def test_literal_values_of_variables_named_like_secrets_are_found() -> None:
    assert literal_secrets(WHOLE) == (
        ("/spec/containers/0/env/0", "API_TOKEN"),
        ("/spec/containers/0/env/1", "db-password"),
    )


def test_an_executor_must_honour_every_field_that_changes_what_runs() -> None:
    assert required_capabilities(WHOLE) == (
        "env",
        "env.fieldRef",
        "env.secretKeyRef",
        "image",
        "volumes.hostPath",
    )
    assert required_capabilities(a_template(cpu="1")) == ()
    assert required_capabilities({"spec": {"unheardOf": True}}) == ("unheardOf",)


def test_only_what_a_mount_asks_beyond_the_usual_is_needed_of_an_executor() -> None:
    mount = {"name": "v", "mountPropagation": "None", "recursiveReadOnly": "Disabled"}
    asking = {"name": "v", "mountPropagation": "Bidirectional", "subPathExpr": "$(POD)"}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "volumeMounts": [mount]}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    }
    assert required_capabilities({"spec": spec}) == ("volumes.emptyDir",)
    spec["containers"][0]["volumeMounts"] = [asking]
    spec["volumes"] = [{"name": "v", "emptyDir": {"mode": 511}}]
    assert required_capabilities({"spec": spec}) == (
        "volumeMounts.mountPropagation",
        "volumeMounts.subPathExpr",
        "volumes.emptyDir",
        "volumes.emptyDir.mode",
    )
