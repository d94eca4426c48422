"""An agent declares exactly what it honours of pod templates, and refuses pods that need more."""

from pathlib import Path
from typing import Any

import pytest

from headgate.adapters.manifests.pod_templates import CONTAINER_FIELDS, POD_FIELDS
from headgate.domain.values.capabilities import (
    AGENT_CAPABILITIES,
    CONTAINER_FIELDS_FREE,
    POD_FIELDS_FREE,
    UPLOAD,
    required_capabilities,
)
from headgate.executor.substrate import CannotStart
from headgate.executor.substrates.agent.pod_template import HONOURED, PodRules, read_template
from tests.executors.pods import key_of, plan_of, template_of

VOLUMES = Path("/volumes")


def read(template: Any, rules: PodRules) -> Any:
    return read_template(plan_of(key_of(), template), rules, VOLUMES, {})


def test_an_agent_reads_all_that_it_declares_of_a_template(tmp_path: Path) -> None:
    secrets, data = tmp_path / "secrets", tmp_path / "data"
    data.mkdir()
    (secrets / "team-a" / "db").mkdir(parents=True)
    (secrets / "team-a" / "db" / "key").write_text("xyz")
    container = {
        "args": ["last"],
        "env": [
            {"name": "PLAIN", "value": "1"},
            {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "db", "key": "key"}}},
        ],
        "workingDir": str(data),
        "volumeMounts": [
            {"name": "data", "mountPath": str(data.resolve())},
            {"name": "empty", "mountPath": str(VOLUMES / "empty")},
        ],
    }
    template = template_of(
        "true",
        container=container,
        volumes=[
            {"name": "data", "hostPath": {"path": str(data)}},
            {"name": "empty", "emptyDir": {}},
        ],
        terminationGracePeriodSeconds=7,
        activeDeadlineSeconds=9,
    )
    rules = PodRules(
        allow_root=True, allowed_host_paths=(str(tmp_path),), secrets_directory=str(secrets)
    )
    assert set(required_capabilities(template)) == AGENT_CAPABILITIES <= set(HONOURED)
    found = read(template, rules)
    assert (Path(found.command[0]).name, found.command[1:]) == ("true", ("last",))
    variables = [found.environment[name] for name in ("PLAIN", "FIELD", "SECRET")]
    assert variables == ["1", "team-a", "xyz"]
    assert found.working_directory == str(data)
    assert found.empty_directories == (str(VOLUMES / "empty"),)
    assert (found.grace_seconds, found.active_deadline_seconds) == (7, 9)


BEYOND_POD = sorted({*POD_FIELDS} - POD_FIELDS_FREE - AGENT_CAPABILITIES)
BEYOND_CONTAINER = sorted({*CONTAINER_FIELDS} - CONTAINER_FIELDS_FREE - AGENT_CAPABILITIES)


@pytest.mark.parametrize(
    ("capability", "template"),
    [
        *((name, template_of("true", **dict[str, Any]({name: "x"}))) for name in BEYOND_POD),
        *((name, template_of("true", container={name: "x"})) for name in BEYOND_CONTAINER),
        ("volumes.nfs", template_of("true", volumes=[{"name": "data", "nfs": {"path": "/"}}])),
    ],
)
def test_an_agent_refuses_a_pod_that_needs_more_than_it_declares(
    capability: str, template: Any
) -> None:
    assert required_capabilities(template) == tuple(sorted(("command", capability)))
    with pytest.raises(CannotStart, match=f"does not honour {capability} of a pod template"):
        read(template, PodRules(allow_root=True))


def test_fields_that_describe_a_pod_alone_need_nothing_of_an_executor() -> None:
    free = dict.fromkeys(CONTAINER_FIELDS_FREE - {"name", "resources", "volumeMounts"}, "x")
    pod = dict.fromkeys(POD_FIELDS_FREE - {"containers", "initContainers", "volumes"}, "x")
    template = template_of("true", container=free, **pod)
    assert required_capabilities(template) == ("command",)
    assert read(template, PodRules(allow_root=True)).command[1:] == ()


def test_a_pod_that_begins_in_an_upload_needs_an_executor_with_uploads() -> None:
    template = template_of("true")
    template["metadata"] = {"annotations": {UPLOAD: "a" * 64}}
    assert required_capabilities(template) == ("command", "upload")
    assert read(template, PodRules(allow_root=True)).command[1:] == ()
