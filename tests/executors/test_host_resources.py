"""What a host gives pods: cgroups at each level, GPUs, output files, and rules for templates."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.executor.substrate import CannotStart
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.inventory import NodeSettings, NvmlInventory, describe_host
from headgate.executor.substrates.agent.isolation import (
    HostCgroups,
    PodCgroups,
    find_cgroups,
    level_of,
    prepare_cgroups,
)
from headgate.executor.substrates.agent.pod_directory import OutputWriter, read_output, segments
from headgate.executor.substrates.agent.pod_template import PodRules, read_template
from headgate.executor.substrates.agent.run_directory import CgroupLayout, Exit, Limits
from tests.executors.pods import key_of, plan_of, template_of

LIMITS = Limits(cpu_milli=1500, cpu_request_milli=1000, memory_bytes=64 << 20, processes=100)
ALL = "cpu memory pids"


def hierarchy(root: Path, *, controllers: str, has_kill: bool = True) -> HostCgroups:
    """A cgroup file system of version 2 as far as files show one."""
    root.mkdir()
    (root / "cgroup.subtree_control").write_text("")
    parent = root / "headgate-pods-rack-1"
    for directory in (parent, parent / "probe"):
        directory.mkdir()
        (directory / "cgroup.subtree_control").write_text("")
    if has_kill:
        (parent / "probe" / "cgroup.kill").write_text("")
    for directory in (root, parent):
        if not controllers:
            (directory / "cgroup.subtree_control").unlink()
            (directory / "cgroup.subtree_control").mkdir()
    return HostCgroups(unified=str(root))


def test_cgroups_are_found_where_they_are_mounted() -> None:
    mounts = (
        "31 24 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
        "33 24 0:29 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "34 24 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 24 0:31 / /proc rw - proc proc rw\n"
    )
    membership = "9:memory:/docker/abc/agent\n8:cpu,cpuacct:/\n0::/system.slice/headgate.service\n"
    found = find_cgroups(mounts, membership)
    assert found.unified == "/sys/fs/cgroup/unified/system.slice/headgate.service"
    assert found.by_controller == {
        "memory": "/sys/fs/cgroup/memory/agent",
        "cpu": "/sys/fs/cgroup/cpu,cpuacct",
    }


def test_version_2_with_controllers_is_the_best_level(tmp_path: Path) -> None:
    layout = prepare_cgroups(hierarchy(tmp_path / "v2", controllers=ALL), "rack-1")
    assert level_of(layout) == "cgroup2"


def test_limits_are_those_of_version_1_where_version_2_has_no_controllers(tmp_path: Path) -> None:
    host = hierarchy(tmp_path / "v2", controllers="")
    (tmp_path / "memory").mkdir()
    by_controller = {"memory": str(tmp_path / "memory")}
    layout = prepare_cgroups(
        HostCgroups(unified=host.unified, by_controller=by_controller), "rack-1"
    )
    assert level_of(layout) == "hybrid"
    assert layout.by_controller == {"memory": str(tmp_path / "memory" / "headgate-pods-rack-1")}


@pytest.mark.parametrize("host", ["none", "without kill", "read-only"])
def test_hosts_without_usable_cgroups_have_process_groups(tmp_path: Path, host: str) -> None:
    match host:
        case "none":
            found = HostCgroups()
        case "without kill":
            found = hierarchy(tmp_path / "v2", controllers=ALL, has_kill=False)
        case _:
            found = HostCgroups(unified=str(tmp_path / "missing"))
    assert level_of(prepare_cgroups(found, "rack-1")) == "process-group"


def test_limits_of_version_2(tmp_path: Path) -> None:
    layout = CgroupLayout(unified=str(tmp_path), has_controllers=True)
    PodCgroups(layout, "pod").create(LIMITS)
    written = {path.name: path.read_text() for path in (tmp_path / "pod").iterdir()}
    assert written == {
        "memory.max": str(64 << 20),
        "pids.max": "100",
        "cpu.max": "150000 100000",
        "cpu.weight": "39",
    }


def test_limits_of_version_1(tmp_path: Path) -> None:
    for name in ("unified", "memory", "cpu", "pids"):
        (tmp_path / name).mkdir()
    by_controller = {name: str(tmp_path / name) for name in ("memory", "cpu", "pids")}
    layout = CgroupLayout(unified=str(tmp_path / "unified"), by_controller=by_controller)
    PodCgroups(layout, "pod").create(LIMITS)
    assert (tmp_path / "memory/pod/memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (tmp_path / "cpu/pod/cpu.cfs_quota_us").read_text() == "150000"
    assert (tmp_path / "cpu/pod/cpu.shares").read_text() == "1024"
    assert (tmp_path / "pids/pod/pids.max").read_text() == "100"
    assert list((tmp_path / "unified/pod").iterdir()) == []


@pytest.mark.parametrize(("has_controllers", "file"), [(True, "memory.events"), (False, "")])
def test_kills_for_want_of_memory_are_counted(
    tmp_path: Path, has_controllers: bool, file: str
) -> None:
    by_controller = {} if has_controllers else {"memory": str(tmp_path)}
    layout = CgroupLayout(
        unified=str(tmp_path), has_controllers=has_controllers, by_controller=by_controller
    )
    (tmp_path / "pod").mkdir()
    cgroups = PodCgroups(layout, "pod")
    assert cgroups.out_of_memory_kills() == 0
    (tmp_path / "pod" / (file or "memory.oom_control")).write_text("low 0\noom 3\noom_kill 2\n")
    assert cgroups.out_of_memory_kills() == 2


def test_a_cgroup_is_killed_as_one_until_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "pod").mkdir()
    events = tmp_path / "pod" / "cgroup.events"
    events.write_text("populated 1\nfrozen 0\n")
    cgroups = PodCgroups(CgroupLayout(unified=str(tmp_path)), "pod")
    looks = []

    def reap() -> None:
        looks.append((tmp_path / "pod" / "cgroup.kill").read_text())
        if len(looks) == 3:
            events.write_text("populated 0\nfrozen 0\n")

    assert cgroups.kill(reap)
    assert looks == ["1", "1", "1"]


def test_what_has_reserved_room_is_written_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_to_disk = os.write

    def write(descriptor: int, content: bytes) -> int:
        if os.fstat(descriptor).st_size == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_to_disk(descriptor, content)

    files.keep_spares(tmp_path)
    run = tmp_path / "runs" / "hg-1"
    run.mkdir(parents=True)
    monkeypatch.setattr(os, "write", write)
    for finished_at in (1, 2):
        end = Exit(reason="Completed", exit_code=0, finished_at=finished_at)
        files.write(run / "exit.json", end, durable=True)
        assert files.read(run / "exit.json", Exit) == end
    assert len(list((tmp_path / files.SPARES).iterdir())) == files.MAX_SPARES - 2
    with pytest.raises(OSError, match="No space left"):
        files.write(run / "launch.json", Exit(reason="Completed"))
    for spare in (tmp_path / files.SPARES).iterdir():
        spare.unlink()
    with pytest.raises(OSError, match="No space left"):
        files.write(run / "stop.json", Exit(reason="Completed"))
    assert [path.name for path in run.iterdir()] == ["exit.json"]


class RecordedError(Exception):
    """A refusal of NVML."""


class RecordedNvml:
    """Answers of NVML as they were recorded on a host; each call asks the recording."""

    NVMLError = RecordedError
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0

    def __init__(self, devices: list[dict[str, Any]] | None) -> None:
        self._devices = devices
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        if self._devices is None:
            raise RecordedError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._devices or ())

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:  # noqa: N802
        return (self._devices or [])[index]

    def nvmlDeviceGetName(self, device: dict[str, Any]) -> bytes:  # noqa: N802
        return str(device["name"]).encode()

    def nvmlDeviceGetUUID(self, device: dict[str, Any]) -> str:  # noqa: N802
        return str(device["uuid"])

    def nvmlDeviceGetMemoryInfo(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return type("Memory", (), {"total": device["memory"]})

    def nvmlDeviceGetTotalEccErrors(  # noqa: N802
        self, device: dict[str, Any], kind: int, since: int
    ) -> int:
        if "uncorrected" not in device or (kind, since) != (1, 0):
            raise RecordedError("Not Supported")
        return int(device["uncorrected"])

    def nvmlDeviceGetMigMode(self, device: dict[str, Any]) -> tuple[int, int]:  # noqa: N802
        if "mig" not in device:
            raise RecordedError("Not Supported")
        return (1, 1) if device["mig"] else (0, 0)

    def nvmlDeviceGetMaxMigDeviceCount(self, device: dict[str, Any]) -> int:  # noqa: N802
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(  # noqa: N802
        self, device: dict[str, Any], index: int
    ) -> dict[str, Any]:
        if index >= len(device["mig"]):
            raise RecordedError("Not Found")
        return dict(device["mig"][index])


def recording(name: str) -> RecordedNvml:
    return RecordedNvml(json.loads((Path(__file__).parent / "nvml.json").read_text())[name])


def test_eight_gpus_are_eight_devices() -> None:
    nvml = recording("eight H100")
    gpus = NvmlInventory(nvml).gpus()
    assert [gpu.model for gpu in gpus] == ["NVIDIA H100 80GB HBM3"] * 8
    assert len({gpu.id for gpu in gpus}) == 8
    assert nvml.open == 0
    node = describe_host(NodeSettings(name="host-1", executor="rack-1"), gpus)
    assert node.capacity["nvidia.com/gpu"] == "8"
    assert node.devices[0]["memory"] == str(81_559 << 20)
    assert [device["uncorrectedErrors"] for device in node.devices] == [0, 0, 0, 0, 0, 2, 0, 0]


def test_each_mig_instance_is_a_device() -> None:
    gpus = NvmlInventory(recording("MIG")).gpus()
    assert [gpu.model for gpu in gpus] == [
        "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "NVIDIA H100 80GB HBM3",
    ]
    assert gpus[0].id.startswith("MIG-")
    # Instances have the errors of their GPU; the other one counts none.
    assert [gpu.uncorrected_errors for gpu in gpus] == [1, 1, None]
    node = describe_host(NodeSettings(name="host-1", executor="rack-1"), gpus)
    assert "uncorrectedErrors" not in node.devices[2]


def test_a_host_without_a_driver_has_no_gpus() -> None:
    assert NvmlInventory(recording("none")).gpus() == []
    node = describe_host(NodeSettings(name="host-1", executor="rack-1"), [])
    assert "nvidia.com/gpu" not in node.capacity


def test_a_node_keeps_what_is_reserved_and_shows_its_labels() -> None:
    whole = describe_host(NodeSettings(name="h", executor="e"), [])
    settings = NodeSettings(
        name="h", executor="e", labels={"topology-rack": "r1"}, reserved_cpu_milli=500
    )
    node = describe_host(settings, [])
    cpu = int(whole.capacity["cpu"].removesuffix("m"))
    assert node.capacity["cpu"] == f"{cpu - 500}m"
    assert node.labels["topology-rack"] == "r1"
    assert node.labels["headgate.dev/executor"] == "e"


@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=30), limit=st.integers(8, 100))
def test_output_keeps_its_first_and_last_bytes_in_place(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], limit: int
) -> None:
    directory = tmp_path_factory.mktemp("output")
    writer = OutputWriter(directory, "stdout", limit)
    for piece in pieces:
        writer.write(piece)
    writer.close()
    whole = b"".join(pieces)
    kept, offset = {}, 0
    while content := (chunk := read_output(directory, "stdout", offset, 7)).content:
        assert content == whole[chunk.offset : chunk.end]
        kept.update(dict.fromkeys(range(chunk.offset, chunk.end)))
        offset = chunk.end
    assert set(range(min(limit, len(whole)))) <= set(kept)
    assert set(range(max(0, len(whole) - limit), len(whole))) <= set(kept)
    assert len(kept) <= 3 * limit


def test_a_full_disk_drops_output_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = OutputWriter(tmp_path, "stdout", 1 << 20)
    writer.write(b"before")
    is_full = True
    write = os.write

    def refuse(descriptor: int, content: bytes) -> int:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content)

    monkeypatch.setattr(os, "write", refuse)
    writer.write(b" lost ")
    writer.write(b"lost again ")
    is_full = False
    writer.write(b"after")
    writer.close()
    assert writer.dropped == len(b" lost lost again ")
    chunk = read_output(tmp_path, "stdout", len(b"before"), 100)
    assert (chunk.offset, chunk.content) == (23, b"after")
    assert len(segments(tmp_path, "stdout")) == 2


RULES = PodRules(allow_root=True)


def read(template: Any, rules: PodRules = RULES, **settings: Any) -> Any:
    plan = plan_of(key_of(), template, **settings)
    return read_template(plan, rules, Path("/volumes"), {"HEADGATE_NODE": "host-1"})


def test_command_and_args_refer_to_variables_as_in_kubernetes() -> None:
    container = {
        "args": ["$(B)", "$$(B)", "$(UNKNOWN)", "$RANK"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}],
    }
    found = read(template_of("echo", container=container))
    assert found.command[1:] == ("12", "$(B)", "$(UNKNOWN)", "$RANK")


def test_variables_come_from_fields_and_labels() -> None:
    fields = {
        "NODE": "spec.nodeName",
        "SPACE": "metadata.namespace",
        "TEAM": "metadata.labels['team']",
    }
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in fields.items()
    ]
    template = {
        **template_of("true", container={"env": env}),
        "metadata": {"labels": {"team": "x"}},
    }
    found = read(template).environment
    assert (found["NODE"], found["SPACE"], found["TEAM"]) == ("host-1", "team-a", "x")


def test_secrets_come_from_the_agents_own_store(tmp_path: Path) -> None:
    (tmp_path / "team-a" / "db").mkdir(parents=True)
    (tmp_path / "team-a" / "db" / "password").write_text("xyz\n")
    source = {"secretKeyRef": {"name": "db", "key": "password"}}
    template = template_of("true", container={"env": [{"name": "P", "valueFrom": source}]})
    rules = PodRules(allow_root=True, secrets_directory=str(tmp_path))
    assert read(template, rules).environment["P"] == "xyz"
    with pytest.raises(CannotStart, match="no secret team-a/db/password"):
        read(template)


def test_a_secret_never_lies_outside_the_store(tmp_path: Path) -> None:
    source = {"secretKeyRef": {"name": "..", "key": "password"}}
    (tmp_path / "password").write_text("of another namespace")
    template = template_of("true", container={"env": [{"name": "P", "valueFrom": source}]})
    with pytest.raises(CannotStart, match="has no secret"):
        read(template, PodRules(allow_root=True, secrets_directory=str(tmp_path / "s")))


def mounting(path: str, target: str, **mount: Any) -> Any:
    mounts = [{"name": "data", "mountPath": target, **mount}]
    template = template_of("true", container={"volumeMounts": mounts})
    template["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": path}}]
    return template


def test_host_paths_are_mounted_only_below_the_allowed_ones(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "out").symlink_to("/etc")
    rules = PodRules(allow_root=True, allowed_host_paths=(str(tmp_path / "shared"),))
    inside = str(tmp_path / "shared")
    assert read(mounting(inside, inside), rules).mounts == ()
    for path in ("/etc", f"{inside}/out", f"{inside}/../.."):
        with pytest.raises(CannotStart, match="is not below a path of --allowed-host-path"):
            read(mounting(path, path), rules)
    for kind, is_right in (("DirectoryOrCreate", True), ("Directory", True), ("File", False)):
        typed = mounting(inside, inside)
        typed["spec"]["volumes"][0]["hostPath"]["type"] = kind
        if is_right:
            assert read(typed, rules).mounts == ()
        else:
            with pytest.raises(CannotStart, match="shared is no File"):
                read(typed, rules)
    with pytest.raises(CannotStart, match="leaves its volume"):
        read(mounting(inside, inside, subPath="out"), rules)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"initContainers": [{"name": "x"}]}, "initContainers"),
        ({"containers": "none"}, "containers"),
    ],
)
def test_what_an_agent_lacks_is_refused(spec: dict[str, Any], reason: str) -> None:
    template = template_of("true")
    template["spec"] |= spec
    with pytest.raises(CannotStart, match=reason):
        read(template)


def test_requests_weigh_and_limits_bind() -> None:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    found = read(template_of("true", container={"resources": resources})).limits
    assert (found.cpu_request_milli, found.cpu_milli, found.memory_bytes) == (500, 0, 2 << 30)
