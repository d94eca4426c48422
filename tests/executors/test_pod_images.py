"""Pods with images: podman pulls, keeps and mounts them, and a shim runs what is in them."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.cli.commands.submit import with_command
from headgate.cli.options import directory_of, with_image
from headgate.executor.substrate import CannotStart, SessionPlan
from headgate.executor.substrates.agent.host import AgentHost, HostSettings
from headgate.executor.substrates.agent.inventory import NodeSettings
from headgate.executor.substrates.agent.pod_content import PodImages, find_podman
from headgate.executor.substrates.agent.pod_template import PodRules, read_template
from headgate.executor.substrates.agent.run_directory import Image, StartsLater
from tests.executors.pods import (
    NoGpus,
    ended,
    eventually,
    key_of,
    literal,
    output_of,
    plan_of,
    template_of,
)

SHELL = Path("/bin/sh")
NAME = "registry.example.com/tools/shell:1"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an image for a pod")

FAKE = """#!/bin/sh
echo "$@" >> {directory}/calls
case "$1 $2" in
    "pull --quiet") test -e {directory}/registry || {{ echo 'Error: no such host' >&2; exit 125; }}
                    touch {directory}/has;;
    "image exists") test -e {directory}/has;;
    "image inspect") cat {directory}/inspected;;
    "image mount") echo {directory}/root;;
esac
"""


class FakePodman:
    """Answers as podman does, with one image, and notes what it was asked."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.directory = directory
        self.path = str(directory / "podman")
        Path(self.path).write_text(FAKE.format(directory=directory))
        Path(self.path).chmod(0o755)
        inspected = [{"Id": "one", "Config": config, "Os": "linux"}]
        (directory / "inspected").write_text(json.dumps(inspected))
        fill_root(directory / "root")

    def have(self, *, image: bool = False, registry: bool = False) -> None:
        for name, wanted in (("has", image), ("registry", registry)):
            if wanted:
                (self.directory / name).touch()

    def calls(self, word: str) -> int:
        try:
            lines = (self.directory / "calls").read_text().splitlines()
        except FileNotFoundError:
            return 0
        return sum(word in line.split()[:2] for line in lines)


@pytest.fixture
def podman(tmp_path: Path) -> FakePodman:
    return FakePodman(
        tmp_path,
        Entrypoint=["sh", "-c"],
        Cmd=["echo of the image"],
        Env=["GREETING=hello", "PATH=/tools:/bin"],
        WorkingDir="/srv",
    )


def fill_root(root: Path) -> None:
    """Copies a shell with its libraries: the smallest image that this host can give."""
    linked = subprocess.run(("ldd", SHELL), check=True, capture_output=True, text=True).stdout
    libraries = [word for word in linked.split() if word.startswith("/")]
    for each in (str(SHELL), *libraries):
        target = root / each.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(each, target)
    (root / "srv").mkdir()
    (root / "tmp").mkdir(mode=0o777)
    (root / "srv/told").write_text("of the image\n")


def image_template(*command: str, image: str = NAME, **container: Any) -> Any:
    template = template_of(*command, container={"image": image, **container})
    if not (command or "command" in container):
        del template["spec"]["containers"][0]["command"]
    return template


def fetched(images: PodImages, template: Any, run: int = 1) -> Image | None:
    """The image of a run once podman has given it."""

    def look() -> list[Image | None]:
        try:
            return [images.image_for(plan_of(key_of(run=run), template))]
        except StartsLater:
            return []

    return eventually(look)[0]


def test_an_image_is_pulled_once_for_all_pods_and_mounted_once(podman: FakePodman) -> None:
    podman.have(registry=True)
    images = PodImages(podman.path, lambda: None)
    first = fetched(images, image_template("true"))
    assert first == Image(
        root=str(podman.directory / "root"),
        entrypoint=("sh", "-c"),
        arguments=("echo of the image",),
        environment={"GREETING": "hello", "PATH": "/tools:/bin"},
        working_directory="/srv",
    )
    assert fetched(images, image_template("true"), run=2) == first
    assert [podman.calls(word) for word in ("pull", "mount")] == [1, 1]


def test_the_pull_policy_always_pulls_for_each_run_and_mounts_once(podman: FakePodman) -> None:
    podman.have(image=True, registry=True)
    images = PodImages(podman.path, lambda: None)
    template = image_template("true", imagePullPolicy="Always")
    assert fetched(images, template) == fetched(images, template, run=2)
    assert [podman.calls(word) for word in ("pull", "mount")] == [2, 1]


def test_what_podman_refuses_ends_the_start_and_the_next_run_asks_again(podman: FakePodman) -> None:
    images = PodImages(podman.path, lambda: None)
    with pytest.raises(CannotStart, match=r"image registry.*: no such host"):
        fetched(images, image_template("true"))
    with pytest.raises(CannotStart, match="imagePullPolicy: Never"):
        fetched(images, image_template("true", imagePullPolicy="Never"))
    podman.have(registry=True)
    assert fetched(images, image_template("true"), run=2) is not None


@pytest.mark.parametrize("name", ["--root=/x", "dir:/etc", "docker-archive:/x.tar", "a b"])
def test_a_name_that_podman_would_read_as_something_else_is_refused(
    podman: FakePodman, name: str
) -> None:
    images = PodImages(podman.path, lambda: None)
    with pytest.raises(CannotStart, match="no name of an image"):
        images.image_for(plan_of(key_of(), image_template("true", image=name)))
    assert podman.calls("pull") == 0


def test_without_podman_no_image_is_honoured_and_a_pod_with_one_is_refused() -> None:
    images = PodImages("", lambda: None)
    plan = plan_of(key_of(), image_template("true"))
    assert images.capabilities == ()
    assert images.image_for(plan) is None
    with pytest.raises(CannotStart, match="does not honour image"):
        read_template(plan, PodRules(allow_root=True), Path("/volumes"), {})


@pytest.mark.parametrize(
    ("container", "command", "directory"),
    [
        ({}, ("sh", "-c", "echo of the image"), "/srv"),
        ({"args": ["echo $(GREETING)"]}, ("sh", "-c", "echo hello"), "/srv"),
        ({"command": ["ls"]}, ("ls",), "/srv"),
        ({"command": ["ls"], "args": ["/"], "workingDir": "/tmp"}, ("ls", "/"), "/tmp"),
    ],
)
def test_command_and_arguments_follow_the_rules_of_kubernetes(
    podman: FakePodman, container: dict[str, Any], command: tuple[str, ...], directory: str
) -> None:
    podman.have(image=True)
    template = image_template(**container)
    image = fetched(PodImages(podman.path, lambda: None), template)
    plan = plan_of(key_of(), template)
    found = read_template(plan, PodRules(allow_root=True), Path("/volumes"), {}, image)
    assert (found.command, found.working_directory) == (command, directory)
    assert found.environment["PATH"] == "/tools:/bin"


def test_run_begins_in_the_directory_of_an_image_unless_told_another() -> None:
    for chdir, expected in (("", None), ("/data", "/data")):
        pods: Any = {"template": {"spec": {"containers": [{}]}}}
        manifest: dict[str, Any] = {"spec": {"podSets": [pods]}}
        made = with_command(manifest, ["ls"], {}, directory_of(None, chdir, NAME))
        made = with_image(made, NAME)
        (container,) = made["spec"]["podSets"][0]["template"]["spec"]["containers"]
        assert (container["image"], container.get("workingDir")) == (NAME, expected)


@pytest.fixture
def host_with(tmp_path: Path) -> Iterator[Callable[[str], AgentHost]]:
    made = []

    def host_with(podman: str, **rules: Any) -> AgentHost:
        settings = HostSettings(
            directory=tmp_path / "agent",
            node=NodeSettings(name="host-1", executor="rack-1"),
            rules=msgspec.convert({"allow_root": True, **rules}, PodRules),
            podman=podman,
        )
        made.append(AgentHost(settings, NoGpus()))
        return made[-1]

    yield host_with
    for host in made:
        host.close()


def run_to_end(host: AgentHost, template: Any, **settings: Any) -> str:
    """What a pod printed, and its exit code."""
    plan = plan_of(key_of(), template, **settings)
    eventually(lambda: _begun(host, plan), host)
    end = ended(host, plan.key).end
    assert end is not None
    printed = output_of(host, plan.key) + output_of(host, plan.key, "stderr")
    return f"{printed}{end.reason} {end.exit_code} {end.message}".strip()


def _begun(host: AgentHost, plan: Any) -> bool:
    host.start(plan)
    return plan.key.name in host.observe()


SEES = literal(
    "read told < told; echo $told $GREETING; test -e /usr/bin/python3 && echo of the host;"
    'read rank < "$HEADGATE_HOSTFILE"; echo $rank; echo ok > "$HEADGATE_SCRATCH/new";'
    "echo changed > /srv/told; read own < /data/own; echo $own; echo x > /data/own; exit 3"
)


@needs_root
def test_a_pod_sees_its_image_its_run_and_its_volumes_and_not_the_host(
    podman: FakePodman, host_with: Callable[..., AgentHost], tmp_path: Path
) -> None:
    podman.have(image=True)
    data = tmp_path / "data"
    data.mkdir()
    (data / "own").write_text("of the volume\n")
    template = image_template(
        "sh", "-c", SEES, volumeMounts=[{"name": "d", "mountPath": "/data", "readOnly": True}]
    )
    template["spec"]["volumes"] = [{"name": "d", "hostPath": {"path": str(data)}}]
    host = host_with(podman.path, allowed_host_paths=(str(data),))
    printed = run_to_end(host, template)
    lines = printed.splitlines()
    assert lines[:3] == ["of the image hello", "host-1", "of the volume"]
    assert "ead-only" in lines[3]
    assert lines[-1] == "Error 3"
    assert (data / "own").read_text() == "of the volume\n"
    assert (podman.directory / "root/srv/told").read_text() == "of the image\n"
    assert not Path("/data").exists()
    host.forget(key_of())
    assert list((tmp_path / "agent/runs").iterdir()) == []


@needs_root
def test_a_command_that_the_image_lacks_ends_the_start(
    podman: FakePodman, host_with: Callable[..., AgentHost]
) -> None:
    podman.have(image=True)
    printed = run_to_end(host_with(podman.path), image_template("python3"))
    assert printed == "StartFailed None command python3: No such file or directory"


@needs_root
def test_a_link_in_an_image_leads_no_mount_out_of_it(
    podman: FakePodman, host_with: Callable[..., AgentHost], tmp_path: Path
) -> None:
    podman.have(image=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (podman.directory / "root/data").symlink_to(outside)
    template = image_template("true", volumeMounts=[{"name": "d", "mountPath": "/data/deep"}])
    template["spec"]["volumes"] = [{"name": "d", "emptyDir": {}}]
    printed = run_to_end(host_with(podman.path), template)
    assert printed == "StartFailed None /data: File exists"
    assert list(outside.iterdir()) == []


@needs_root
def test_a_session_runs_in_the_image_of_its_pod(
    podman: FakePodman, host_with: Callable[..., AgentHost]
) -> None:
    podman.have(image=True)
    host = host_with(podman.path)
    plan = plan_of(key_of(), image_template("sh", "-c", "while :; do read x < /dev/zero; done"))
    eventually(lambda: _begun(host, plan), host)
    eventually(lambda: host.observe()[plan.key.name].state == "Running", host)
    look = literal("read told < told; echo $told; test -e /usr/bin/python3 || echo alone")
    session = host.open_session(plan.key, SessionPlan(command=("sh", "-c", look)))
    said = b""
    while (told := session.read()) is not None:
        if told.type == "exit":
            break
        said += told.content
    session.close()
    host.kill(plan.key)
    ended(host, plan.key)
    assert said.decode().splitlines() == ["of the image", "alone"]


@pytest.mark.skipif(not find_podman(), reason="podman is not installed, or this is not root")
def test_an_image_that_podman_keeps_runs_with_its_own_settings(
    tmp_path: Path, host_with: Callable[..., AgentHost]
) -> None:
    podman = find_podman()
    fill_root(tmp_path / "root")
    name = f"localhost/headgate-test:{os.getpid()}-{time.monotonic_ns()}"
    packed = tmp_path / "root.tar"
    subprocess.run(("tar", "-C", tmp_path / "root", "-cf", packed, "."), check=True)
    changes = ("ENV GREETING=hello", "WORKDIR /srv", 'CMD ["sh", "-c", "read a < told; echo $a"]')
    options = [word for change in changes for word in ("--change", change)]
    subprocess.run((podman, "import", "--quiet", *options, packed, name), check=True)
    try:
        printed = run_to_end(host_with(podman), image_template(image=name))
    finally:
        subprocess.run((podman, "image", "unmount", "--force", name), check=True)
        subprocess.run((podman, "image", "rm", "--force", name), check=True)
    assert printed == "of the image\nCompleted 0"
