"""The manifests of `deploy/kubernetes`: valid for Kubernetes, and with the rights that are used."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.executor.substrates.kubernetes.access import RIGHTS
from tests.kubernetes.verdict_table import read_table

DIRECTORY = Path(__file__).parents[2] / "deploy" / "kubernetes"
VERSION = "1.36"
VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
OF_REPLAYS: frozenset[str | tuple[str, str]] = frozenset(
    {
        "pods/binding",
        "resourcequotas",
        "selfsubjectaccessreviews",
        "serviceaccounts",
        "version",
        ("jobs", "create"),
        ("namespaces", "create"),
        ("namespaces", "delete"),
    }
)
"""What a replay of the table or the doctor asks for, and the executor does not."""


def manifests() -> list[Any]:
    kustomization = yaml.safe_load((DIRECTORY / "kustomization.yaml").read_text())
    return [
        found
        for name in kustomization["resources"]
        for found in yaml.safe_load_all((DIRECTORY / name).read_text())
    ]


@pytest.mark.parametrize("manifest", manifests(), ids=lambda each: each["kind"])
def test_each_manifest_is_valid(manifest: Any) -> None:
    kubernetes_validate.validate(manifest, VERSION, strict=True)


def allowed() -> set[tuple[str, str, str]]:
    """Group, resource and verb of all rules."""
    (role,) = [each for each in manifests() if each["kind"] == "ClusterRole"]
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used() -> set[tuple[str, str, str]]:
    """The same of the requests that the verdict table knows and an executor sends."""
    found = set()
    for row in read_table():
        method, _, path = row.request.partition(" ")
        parts = [each for each in path.strip("/").split("/") if not each.startswith("{")]
        group = parts[1] if parts[0] == "apis" else ""
        names = [each for each in parts[3 if group else 2 :] if each != "namespaces"]
        resource = "/".join(names) or ("namespaces" if "namespaces" in parts else parts[-1])
        reads = "watch" if "watch" in row.query else "list"
        verb = VERBS.get(method) or ("get" if "{name}" in path else reads)
        if verb == "delete" and "{name}" not in path:
            verb = "deletecollection"
        if resource not in OF_REPLAYS and (resource, verb) not in OF_REPLAYS:
            found.add((group, resource, verb))
    return found


def test_the_rights_are_those_that_are_used_and_no_more() -> None:
    assert allowed() == used()
    assert allowed() == set(RIGHTS)


def test_the_container_starts_a_command_that_there_is() -> None:
    (stateful_set,) = [each for each in manifests() if each["kind"] == "StatefulSet"]
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["headgate"]
    group, name, *options = container["args"]
    told = CliRunner().invoke(app, [group, name, "--help"]).stdout
    known = set(re.findall(r"--[a-z-]+", told))
    assert {each.partition("=")[0] for each in options if each.startswith("--")} <= known
