"""What Slurm says of itself, read: `sacctmgr dump`, `scontrol show partition`, `slurm.conf`."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.executor.substrates.agent.inventory import GPU
from headgate.executor.substrates.slurm.nodes import GRES_RESOURCE

Amounts = dict[str, int]

_PAIR = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z][A-Za-z0-9_]*)=((?:\"[^\"]*\"|'[^']*'|[^\s\"'])*)")
_RECORD = re.compile(r"^(Cluster|Parent|Account|User) - '?([^':]*)'?(?::(.*))?$")
_OPTION = re.compile(r"(?<![A-Za-z])([A-Za-z]+)=('[^']*'|[^:]*)")
_HOSTS = re.compile(r"([^,\[]*)(?:\[([^\[\]]*)\])?([^,]*)(?:,|$)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.IGNORECASE)
_MEBIBYTES = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


class Association(msgspec.Struct, kw_only=True):
    """An account or a user of an account, with what `sacctmgr dump` says of it."""

    name: str
    parent: str
    options: dict[str, str]


class Slurm(msgspec.Struct, kw_only=True):
    """What was read of a cluster."""

    settings: dict[str, str] = {}
    accounts: dict[str, Association] = {}
    users: list[Association] = []
    partitions: dict[str, dict[str, str]] = {}
    nodes: dict[str, dict[str, str]] = {}


def read_slurm(texts: Iterable[str]) -> Slurm:
    """What files say together, in any order; raises `CommandFailed` for a text of another kind."""
    found = Slurm()
    for text in texts:
        if re.search(r"^(Cluster|Account|User) - ", text, re.MULTILINE):
            _read_dump(text, found)
        elif _PAIR.search(text):
            _read_settings(text, found)
        else:
            raise CommandFailed(
                "a file is neither sacctmgr dump, scontrol show partition nor slurm.conf",
                code=ExitCode.USAGE,
            )
    return found


def _read_dump(text: str, found: Slurm) -> None:
    parent = "root"
    for line in text.splitlines():
        record = _RECORD.match(line.strip())
        if record is None:
            continue
        kind, name, rest = record[1], record[2], record[3] or ""
        options = {key: value.strip("'") for key, value in _OPTION.findall(rest)}
        if kind == "Parent":
            parent = name
        elif kind == "Account":
            found.accounts[name] = Association(name=name, parent=parent, options=options)
        elif kind == "User":
            found.users.append(Association(name=name, parent=parent, options=options))


def _read_settings(text: str, found: Slurm) -> None:
    """Reads slurm.conf, or records of scontrol: lines that begin with a space go on a record."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)(^|\s)#.*$", "", text))
    for record in re.split(r"\n(?=\S)", lines):
        pairs = {key: value.strip("\"'") for key, value in _PAIR.findall(record)}
        first = next(iter(pairs), "")
        if first.lower() == "partitionname":
            known = found.partitions.setdefault(pairs[first], {})
            known.update({**pairs, "PartitionName": pairs[first]})
        elif first.lower() == "nodename":
            for host in hosts_of(pairs[first]):
                found.nodes[host] = {**pairs, "NodeName": host}
        else:
            found.settings.update(pairs)


def hosts_of(expression: str) -> list[str]:
    """The names that `gpu-[01-03,7],login` stands for."""
    found = []
    for prefix, ranges, suffix in _HOSTS.findall(expression):
        if ranges:
            found += [f"{prefix}{number}{suffix}" for number in _numbers(ranges)]
        elif prefix:
            found.append(prefix)
    return found


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


def amounts_of(tres: str) -> tuple[Amounts, list[str]]:
    """Amounts by resource of `cpu=4,mem=2G,gres/gpu:a100=2`, and what has no equal; memory in MiB.

    A GRES with a model counts only where the GRES as a whole is not given.
    """
    found: Amounts = {}
    models: Amounts = {}
    left = []
    for part in filter(None, tres.split(",")):
        name, _, value = part.partition("=")
        gres, _, model = name.removeprefix("gres/").partition(":")
        if name == "cpu":
            found["cpu"] = int(value)
        elif name == "mem":
            found["memory"] = _mebibytes(value)
        elif name.startswith("gres/"):
            place = models if model else found
            resource = resource_of(gres)
            place[resource] = place.get(resource, 0) + int(value)
        elif name not in {"billing", "energy"}:
            left.append(part)
    return {**models, **found}, left


def resource_of(gres: str) -> str:
    """The resource that a GRES is counted as, as the Slurm executor names it."""
    return GPU if gres == "gpu" else f"{GRES_RESOURCE}{gres}"


def _mebibytes(text: str) -> int:
    found = _MEMORY.fullmatch(text)
    return round(float(found[1]) * _MEBIBYTES[found[2].upper()]) if found else 0


def cpus_of(node: Mapping[str, str]) -> int:
    """The processors of a node, told as a number or by its sockets, cores and threads."""
    if "CPUs" in node:
        return int(node["CPUs"])
    boards = int(node.get("Boards", 1))
    sockets = int(node.get("Sockets") or node.get("SocketsPerBoard") or 1)
    return (
        boards * sockets * int(node.get("CoresPerSocket", 1)) * int(node.get("ThreadsPerCore", 1))
    )
