"""What a host has: cores, memory and GPUs, as its node is registered.

GPUs are read through NVML. With MIG each instance is a device of its own (`nvidia.com/gpu` counts
instances then), as the single strategy of NVIDIA's device plugin has it.
"""

import contextlib
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from headgate.executor.substrate import CannotStart, NodeDescription, Object
from headgate.executor.substrates.agent.run_directory import StartsLater

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
EXECUTOR_LABEL = "headgate.dev/executor"
MAX_PODS = 110
MIG_ENABLED = 1


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU or MIG instance; `id` is its UUID, as CUDA_VISIBLE_DEVICES takes it.

    `uncorrected_errors` are the ECC errors of its memory since the driver was loaded, of a MIG
    instance those of its GPU; None where the GPU counts none.
    """

    id: str
    model: str
    memory_bytes: int
    uncorrected_errors: int | None = None


class GpuInventory(Protocol):
    """Reads the GPUs of a host; fills are NVML and recorded answers."""

    def gpus(self) -> list[Gpu]:
        """Returns the GPUs in the driver's order; none without a driver."""
        ...


class NvmlInventory:
    """GPUs by the functions of `pynvml` (the package nvidia-ml-py), or of a recording of them."""

    def __init__(self, nvml: Any = None) -> None:  # noqa: ANN401 - a module without types
        self._nvml = nvml

    def gpus(self) -> list[Gpu]:
        """Returns the GPUs of the host."""
        nvml = self._nvml or _installed_nvml()
        if nvml is None:
            return []
        try:
            nvml.nvmlInit()
        except nvml.NVMLError:
            return []
        try:
            handles = [
                nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())
            ]
            return [gpu for handle in handles for gpu in _gpus_of(nvml, handle)]
        finally:
            nvml.nvmlShutdown()


def _installed_nvml() -> Any:  # noqa: ANN401 - a module without types
    try:
        import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415 - optional: hosts without GPUs need no driver bindings
    except ImportError:
        return None
    return pynvml


def _gpus_of(nvml: Any, handle: Any) -> list[Gpu]:  # noqa: ANN401 - same
    model = _text(nvml.nvmlDeviceGetName(handle))
    mode = 0
    with contextlib.suppress(nvml.NVMLError):
        mode, _pending = nvml.nvmlDeviceGetMigMode(handle)
    errors = _uncorrected_errors(nvml, handle)
    if mode != MIG_ENABLED:
        return [_gpu(nvml, handle, model, errors)]
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except nvml.NVMLError:
            continue
        found.append(_gpu(nvml, instance, _text(nvml.nvmlDeviceGetName(instance)), errors))
    return found


def _uncorrected_errors(nvml: Any, handle: Any) -> int | None:  # noqa: ANN401 - same
    kind, since = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    try:
        return int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))
    except nvml.NVMLError:
        return None


def _gpu(nvml: Any, handle: Any, model: str, errors: int | None) -> Gpu:  # noqa: ANN401 - same
    return Gpu(
        id=_text(nvml.nvmlDeviceGetUUID(handle)),
        model=model,
        memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        uncorrected_errors=errors,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The names of a node, and what of its host pods may not use: millicores and bytes."""

    name: str
    executor: str
    labels: dict[str, str] = {}
    taints: list[Object] = []
    reserved_cpu_milli: int = 0
    reserved_memory_bytes: int = 0
    max_pods: int = MAX_PODS


def describe_host(settings: NodeSettings, gpus: list[Gpu]) -> NodeDescription:
    """Returns this host as a node; labels of the settings win over those that every agent sets."""
    cpu_milli = len(os.sched_getaffinity(0)) * 1000 - settings.reserved_cpu_milli
    memory_bytes = memory_of_host() - settings.reserved_memory_bytes
    capacity = {
        "cpu": f"{max(0, cpu_milli)}m",
        "memory": str(max(0, memory_bytes)),
        "pods": str(settings.max_pods),
    }
    if gpus:
        capacity[GPU] = str(len(gpus))
    own = {
        HOSTNAME: settings.name,
        EXECUTOR_LABEL: settings.executor,
        "kubernetes.io/os": platform.system().lower(),
        "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(
            platform.machine(), platform.machine()
        ),
    }
    return NodeDescription(
        name=settings.name,
        capacity=capacity,
        labels={**own, **settings.labels},
        taints=settings.taints,
        devices=[_device(gpu) for gpu in gpus],
    )


def _device(gpu: Gpu) -> Object:
    known = {"resource": GPU, "id": gpu.id, "model": gpu.model, "memory": str(gpu.memory_bytes)}
    errors = gpu.uncorrected_errors
    return known if errors is None else {**known, "uncorrectedErrors": errors}


def memory_of_host(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Returns the memory of the host in bytes."""
    for line in meminfo.read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 0


def free_gpus(count: int, known: Sequence[str], used: Mapping[str, bool]) -> tuple[str, ...]:
    """Returns so many GPUs that no pod has; `used` says of those that one has if it stays.

    Raises `StartsLater` where pods that were told to stop have them, and `CannotStart`.
    """
    free = [device for device in known if device not in used]
    if len(free) < count <= sum(not used.get(device) for device in known):
        raise StartsLater
    if len(free) < count:
        raise CannotStart(f"{count} GPUs requested, {len(free)} of {len(known)} free")
    return tuple(free[:count])
