"""What `deploy/`, the Dockerfile and compose promise is accepted by the programs that read it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from headgate.api.openapi import VERSION
from tests.architecture.sources import ROOT

BIN = Path(sys.executable).parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
SERVER = ROOT / "deploy" / "server"
KUSTOMIZATION = yaml.safe_load((SERVER / "kustomization.yaml").read_text())
MANIFESTS = [SERVER / name for name in KUSTOMIZATION["resources"]]
INSTALLED = "/opt/headgate/bin/"
KUBERNETES = "1.33"
STAGE = re.compile(
    r"^FROM (?P<base>\S+)(?: AS (?P<name>\S+))?\n(?P<steps>.*?)(?=^FROM |\Z)",
    re.MULTILINE | re.DOTALL,
)
NOT_COPIED = shutil.ignore_patterns("__pycache__", "_build")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_unit_is_verified_by_systemd(unit: Path, tmp_path: Path) -> None:
    verifier = shutil.which("systemd-analyze")
    if verifier is None:
        pytest.skip("systemd-analyze is not installed")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("headgate", "python"):
        (programs / name).symlink_to(BIN / name)
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(INSTALLED, f"{programs}/"))
    # A unit that others need stands beside it.
    for other in UNITS:
        if not (tmp_path / other.name).exists():
            (tmp_path / other.name).write_text(other.read_text().replace(INSTALLED, f"{programs}/"))
    environment = os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    command = [verifier, "verify", "--man=no", str(copy)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    ours = [line for line in found.stderr.splitlines() if "headgate" in line]
    assert (found.returncode, ours) == (0, [])


def test_units_run_only_commands_that_exist() -> None:
    started = [
        line.removeprefix("ExecStart=")
        for unit in UNITS
        for line in unit.read_text().splitlines()
        if line.startswith("ExecStart=")
    ]
    assert len(started) == len(UNITS)
    assert all(line.startswith(INSTALLED) for line in started)


def test_the_dockerfile_has_no_finding_of_hadolint() -> None:
    command = [str(BIN / "hadolint"), str(ROOT / "Dockerfile")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def objects() -> Iterator[dict[str, object]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text())


def test_every_manifest_is_valid_kubernetes() -> None:
    found = list(objects())
    assert {"Deployment", "Job", "Service", "PodDisruptionBudget"} <= {
        str(each["kind"]) for each in found
    }
    for each in found:
        kubernetes_validate.validate(each, KUBERNETES, strict=True)


def test_the_kustomization_has_every_manifest_and_the_image_of_this_release() -> None:
    others = {path.name for path in SERVER.glob("*.yaml")} - {"kustomization.yaml"}
    assert {path.name for path in MANIFESTS} == others
    (image,) = KUSTOMIZATION["images"]
    assert image["newTag"] == VERSION
    used = set(re.findall(r"image: (\S+)", "".join(path.read_text() for path in MANIFESTS)))
    assert used == {f"{image['name']}:{VERSION}"}


def test_every_pod_runs_unprivileged_on_read_only_code() -> None:
    pods = [each["spec"]["template"]["spec"] for each in objects() if "template" in str(each)]  # type: ignore[index]
    assert len(pods) == 4
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert f"USER {pod['securityContext']['runAsUser']}:" in DOCKERFILE
        for container in pod["containers"]:
            rules = container["securityContext"]
            assert rules["readOnlyRootFilesystem"] is True
            assert rules["allowPrivilegeEscalation"] is False
            assert rules["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.nightly
def test_the_steps_of_the_dockerfile_run_in_an_empty_directory(tmp_path: Path) -> None:
    stages = {match["name"]: match["steps"] for match in STAGE.finditer(DOCKERFILE)}
    built = tmp_path / "build"
    built.mkdir()
    (built / "frontend" / "dist").mkdir(parents=True)
    for name in ("dependencies", "documentation", "packages"):
        for instruction in re.sub(r"\\\n\s*", " ", stages[name]).splitlines():
            _take(instruction, built)
    python = built / ".venv" / "bin" / "python"
    place = subprocess.run(
        [python, "-c", "import headgate; print(headgate.__path__[0])"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    ).stdout.strip()
    assert (Path(place) / "help" / "tutorial.html").is_file()


def _take(instruction: str, built: Path) -> None:
    """Does what a step says, within the directory."""
    word, _, rest = instruction.partition(" ")
    if word == "COPY" and not rest.startswith("--from"):
        *sources, target = rest.split()
        for source in sources:
            here = ROOT / source
            to = built / target if source.endswith("/") or target != "./" else built / source
            to.parent.mkdir(parents=True, exist_ok=True)
            if here.is_dir():
                shutil.copytree(here, to, dirs_exist_ok=True, ignore=NOT_COPIED)
            else:
                shutil.copy(here, to)
    elif word == "RUN":
        path = f"{BIN}:{os.environ['PATH']}"
        own = {"PATH": path, "PYTHONPATH": str(built / "backend"), "UV_PYTHON": sys.executable}
        done = subprocess.run(
            ["bash", "-euc", rest],
            cwd=built,
            env=os.environ | own,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"{rest}\n{done.stderr.decode()}"
