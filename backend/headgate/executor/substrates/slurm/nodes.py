"""Nodes of Slurm as nodes of Headgate: labels of features and switches, GRES, and use by others.

Nodes that are down, or drained of all jobs, are left out, so that what holds for lost nodes holds
for them, and pods that wait there are placed again; those that still drain or do not answer for the
moment have a taint, as their jobs go on.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import msgspec

from headgate.executor.substrate import NodeDescription, Object
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL, GPU
from headgate.executor.substrates.slurm.command_line import FINAL_STATES, SlurmCommands

FEATURE_LABEL = "feature.slurm.headgate.dev/"
SWITCH_LABEL = "slurm.headgate.dev/switch-level-"
GRES_RESOURCE = "slurm.headgate.dev/"
DRAIN_TAINT = "slurm.headgate.dev/drain"
MODEL_LABEL = "slurm.headgate.dev/gpu-model"
LOST = frozenset(
    {
        "DOWN",
        "ERROR",
        "FAIL",
        "FAILING",
        "FUTURE",
        "INVAL",
        "INVALID_REG",
        "POWERED_DOWN",
        "POWERING_DOWN",
        "POWERING_UP",
        "POWER_DOWN",
        "POWER_UP",
        "REBOOT_ISSUED",
        "UNKNOWN",
    }
)
CLOSED = frozenset(
    {"DRAIN", "DRAINED", "DRAINING", "MAINT", "NOT_RESPONDING", "REBOOT_REQUESTED", "RESERVED"}
)
_NOT_IN_A_LABEL = re.compile(r"[^A-Za-z0-9_.-]+")
_GRES = re.compile(r"^(?P<name>[^:()]+)(?::(?P<model>[^:()]+))?:(?P<count>\d+)(?:\(.*)?$")
_MEMORY = re.compile(r"^(\d+)([KMGT]?)$")
_MEBIBYTES = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024}


class NodeRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes are described, and what becomes of their features.

    `levels` has the label of a topology level by the prefix of the features that name it.
    """

    executor: str
    partition: str = ""
    labels: dict[str, str] = {}
    levels: dict[str, str] = {}


def describe_nodes(
    commands: SlurmCommands, rules: NodeRules, own_jobs: Collection[int]
) -> list[NodeDescription]:
    """Returns the nodes that are up, with what other jobs use of them. Raises `SlurmAway`."""
    members = None
    if rules.partition:
        expression = commands.partition(rules.partition).get("Nodes", "")
        members = set(commands.host_names(expression))
    switches = _switches(commands)
    used = _use_by_others(commands, own_jobs)
    return [
        _described(fields, rules, switches.get(fields["NodeName"], {}), used)
        for fields in commands.nodes()
        if (members is None or fields["NodeName"] in members)
        and not is_lost(states_of(fields.get("State", "")))
    ]


def states_of(text: str) -> set[str]:
    """Returns the states of a node, as `IDLE+DRAIN` or `DOWN*`, of which `*` is no answer."""
    found = {each for each in re.split(r"[^A-Z_]+", text) if each}
    return found | {"NOT_RESPONDING"} if "*" in text else found


def is_lost(states: set[str]) -> bool:
    """Whether a node of these states runs no job and takes none."""
    return bool(states & LOST) or states >= {"IDLE", "DRAIN"}


def gres_of(text: str) -> Iterator[tuple[str, str, int]]:
    """Yields name, model and count of `gpu:a100:2(S:0),shard:8`."""
    for part in re.split(r",(?![^(]*\))", text):
        found = _GRES.match(part)
        if found:
            yield found["name"], found["model"] or "", int(found["count"])


def _described(
    fields: Mapping[str, str],
    rules: NodeRules,
    switches: Mapping[str, str],
    used: Mapping[str, Mapping[str, int]],
) -> NodeDescription:
    name = fields["NodeName"]
    cpus = int(fields.get("CPUEfctv") or fields.get("CPUTot", "0"))
    memory = int(fields.get("RealMemory", "0")) - int(fields.get("MemSpecLimit") or 0)
    gres = list(gres_of(fields.get("Gres", "")))
    capacity = {"cpu": str(cpus), "memory": f"{max(0, memory)}Mi", "pods": str(cpus)}
    for resource, count in _counted(gres).items():
        capacity[resource] = str(count)
    models = sorted({model for kind, model, _ in gres if kind == "gpu" and model})
    features = fields.get("ActiveFeatures") or fields.get("AvailableFeatures") or ""
    labels = {
        **switches,
        **_feature_labels(features, rules),
        **({MODEL_LABEL: _label_value(models[0])} if len(models) == 1 else {}),
        **rules.labels,
        EXECUTOR_LABEL: rules.executor,
    }
    others = used.get(name, {})
    return NodeDescription(
        name=name,
        capacity=capacity,
        used_by_others={
            resource: f"{others.get(resource, 0)}{'Mi' if resource == 'memory' else ''}"
            for resource in capacity
        },
        labels=labels,
        taints=_taints(states_of(fields.get("State", ""))),
    )


def _taints(states: set[str]) -> list[Object]:
    if not states & CLOSED:
        return []
    reason = min(states & CLOSED).lower()
    return [{"key": DRAIN_TAINT, "value": reason, "effect": "NoSchedule"}]


def _feature_labels(features: str, rules: NodeRules) -> dict[str, str]:
    """Returns labels: `a=b` is one itself, the others are levels or named by the feature."""
    found = {}
    for feature in features.split(","):
        if feature in {"", "(null)"}:
            continue
        key, equals, value = feature.partition("=")
        prefix = next((each for each in rules.levels if feature.startswith(each)), None)
        if prefix is not None:
            found[rules.levels[prefix]] = _label_value(feature.removeprefix(prefix))
        elif equals:
            found[key] = _label_value(value)
        else:
            found[f"{FEATURE_LABEL}{_label_value(feature)}"] = "true"
    return found


def _switches(commands: SlurmCommands) -> dict[str, dict[str, str]]:
    """Returns the labels of nodes by the switches above them."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for fields in commands.switches():
        if "SwitchName" not in fields or "Nodes" not in fields:
            continue
        for node in commands.host_names(fields["Nodes"]):
            key = f"{SWITCH_LABEL}{fields.get('Level', '0')}"
            found[node][key] = _label_value(fields["SwitchName"])
    return found


def _use_by_others(commands: SlurmCommands, own_jobs: Collection[int]) -> dict[str, dict[str, int]]:
    """Returns what jobs that Headgate did not submit have of each node; memory in MiB."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for fields in commands.allocations():
        states = states_of(fields.get("JobState", ""))
        if int(fields["JobId"]) in own_jobs or states & FINAL_STATES or states <= {"PENDING"}:
            continue
        amounts = {
            "cpu": _count_of(fields.get("CPU_IDs", "")),
            "memory": _mebibytes(fields.get("Mem", "0")),
            "pods": _count_of(fields.get("CPU_IDs", "")),
            **_counted(gres_of(fields.get("GRES", ""))),
        }
        for node in commands.host_names(fields["Nodes"]):
            for resource, amount in amounts.items():
                found[node][resource] += amount
    return found


def _counted(gres: Iterator[tuple[str, str, int]] | list[tuple[str, str, int]]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for name, _, count in gres:
        found[GPU if name == "gpu" else f"{GRES_RESOURCE}{_label_value(name)}"] += count
    return dict(found)


def _count_of(ranges: str) -> int:
    """Returns how many numbers `0-3,6` has."""
    parts = [each.partition("-") for each in ranges.split(",") if each]
    return sum(int(last or first) - int(first) + 1 for first, _, last in parts)


def _mebibytes(text: str) -> int:
    found = _MEMORY.match(text)
    return round(int(found[1]) * _MEBIBYTES[found[2]]) if found else 0


def _label_value(text: str) -> str:
    return _NOT_IN_A_LABEL.sub("-", text).strip("-._")[:63]
