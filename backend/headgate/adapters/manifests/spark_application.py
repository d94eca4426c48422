"""The pods of a SparkApplication, with the requests that Spark gives them.

The operator and Spark derive these only when they make the pods; the rules are those of Spark 3.5
(`BasicDriverFeatureStep`, `BasicExecutorFeatureStep`), as Kueue applies them since 0.19. A field of
the driver or executor goes before `sparkConf`, which goes before `memoryOverheadFactor`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from headgate.adapters.manifests.fields import Fields, quantity_text
from headgate.domain.rejection import child

DEFAULT_MEMORY = "1g"
MIN_OVERHEAD_MIB = 384
JVM_FACTOR, NON_JVM_FACTOR = 0.1, 0.4
MIB = 1 << 20
MAX_MIB = (2**63 - 1) // MIB
_MEMORY = re.compile(r"([0-9]{1,19})(?:([bkmgtp])|([kmgtp])b)?")
_UNITS = ("b", "k", "m", "g", "t", "p")
CONTAINERS = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}


def spark_pods(spec: Fields) -> Iterator[tuple[str, int, Fields]]:
    """The driver and, if there are any, the executors: pod set, count and whole template."""
    allocation = spec.child_or_empty("dynamicAllocation")
    if allocation.flag("enabled", default=False):
        allocation.note("enabled", "SparkDynamicAllocation")
    conf = spec.text_map("sparkConf")
    yield "driver", 1, _template(spec, conf, "driver")
    instances = spec.child_or_empty("executor").integer("instances", 1)
    yield "executor", instances, _template(spec, conf, "executor")


def _template(spec: Fields, conf: Mapping[str, str], role: str) -> Fields:
    """The pod template of a role, as the operator makes it from fields and a given template."""
    fields = spec.child_or_empty(role)
    given = fields.child_or_empty("template").values
    pod = dict(given.get("spec") or {})
    metadata = dict(given.get("metadata") or {})
    for name in ("labels", "annotations"):
        metadata[name] = {**(metadata.get(name) or {}), **fields.text_map(name)}
    requests = {"cpu": _cpu(fields, conf, role), "memory": _memory(spec, fields, conf, role)}
    limits: dict[str, Any] = {
        name: fields.text(field)
        for name, field in (("cpu", "coreLimit"), ("memory", "memoryLimit"))
        if fields.has(field)
    }
    gpu = fields.child("gpu")
    if gpu is not None and gpu.text("name") and gpu.integer("quantity", 0) > 0:
        limits[gpu.text("name")] = gpu.integer("quantity", 0)
    main = {"name": CONTAINERS[role], "resources": {"requests": requests, "limits": limits}}
    pod["containers"] = [main, *_list(pod.get("containers"))[1:], *_list(fields.raw("sidecars"))]
    pod["initContainers"] = _list(pod.get("initContainers")) + _list(fields.raw("initContainers"))
    pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), **fields.text_map("nodeSelector")}
    pod["tolerations"] = _list(pod.get("tolerations")) + _list(fields.raw("tolerations"))
    for name in ("affinity", "priorityClassName"):
        if fields.has(name):
            pod[name] = fields.raw(name)
    at = child(fields.pointer, "template") if given else fields.pointer
    return Fields({"metadata": metadata, "spec": pod}, at, fields.problems)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _cpu(fields: Fields, conf: Mapping[str, str], role: str) -> str:
    asked = quantity_text(fields.raw("coreRequest")) or conf.get(
        f"spark.kubernetes.{role}.request.cores"
    )
    cores = quantity_text(fields.raw("cores")) or conf.get(f"spark.{role}.cores", "1")
    return asked or cores


def _memory(spec: Fields, fields: Fields, conf: Mapping[str, str], role: str) -> str:
    """Memory with its overhead; executors have that of Python and beside the heap too."""
    text = fields.optional_text("memory") or conf.get(f"spark.{role}.memory", DEFAULT_MEMORY)
    memory = _mib(fields, "memory", text)
    overhead = fields.optional_text("memoryOverhead") or conf.get(f"spark.{role}.memoryOverhead")
    if overhead is not None:
        total = memory + _mib(fields, "memoryOverhead", overhead)
    else:
        total = memory + max(int(_factor(spec, conf, role) * memory), MIN_OVERHEAD_MIB)
    if role == "executor":
        if spec.text("type") == "Python" and (size := conf.get("spark.executor.pyspark.memory")):
            total += _mib(fields, "memory", size)
        if conf.get("spark.memory.offHeap.enabled", "").lower() == "true":
            size = conf.get("spark.memory.offHeap.size", "0")
            total += _bytes(fields, "memory", size, unit=1) // MIB
    if total > MAX_MIB:
        fields.note("memory", "NotQuantity")
        total = 0
    return f"{total}Mi"


def _factor(spec: Fields, conf: Mapping[str, str], role: str) -> float:
    given = (
        conf.get(f"spark.{role}.memoryOverheadFactor")
        or conf.get("spark.kubernetes.memoryOverheadFactor")
        or spec.text("memoryOverheadFactor")
    )
    if not given:
        return NON_JVM_FACTOR if spec.text("type") in {"Python", "R"} else JVM_FACTOR
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,12})?", given):
        return float(given)
    spec.note("memoryOverheadFactor", "NotQuantity")
    return 0.0


def _mib(fields: Fields, name: str, text: str) -> int:
    return _bytes(fields, name, text, unit=MIB) // MIB


def _bytes(fields: Fields, name: str, text: str, *, unit: int) -> int:
    """A size as Java writes it, `512m` or `2g`; without a unit it is in `unit` bytes."""
    found = _MEMORY.fullmatch(text.strip().lower())
    if found is None:
        fields.note(name, "NotJavaMemory")
        return 0
    letter = found.group(2) or found.group(3)
    return int(found.group(1)) * (1024 ** _UNITS.index(letter) if letter else unit)
