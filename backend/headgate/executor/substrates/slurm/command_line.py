"""Slurm's command line: jobs and nodes as `squeue` and `scontrol` print them, and changes of jobs.

Text with chosen columns, as it has the same form in all releases; that of `--json` has not.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

SECONDS_FOR_A_COMMAND = 10.0
QUEUE_FIELDS = ("%i", "%T", "%r", "%N", "%j", "%o")
"""Job, state, reason, nodes, name and script; the last two may have anything."""
SEPARATOR = "|"
AWAY = re.compile(
    r"Unable to contact slurm controller|Connection refused|Connection timed out|Socket timed out"
    r"|Zero Bytes were transmitted|backup controller|Communication connection failure"
    r"|currently disabled|Transport endpoint|Resource temporarily unavailable|No route to host"
    r"|Connection (?:reset|aborted)|Broken pipe|Message (?:receive|send) failure|is unreachable"
    r"|Communication shutdown failure|Unexpected message|Header lengths|Insane message"
    r"|slurm_load_(?!topo)\w+ error",
    re.IGNORECASE,
)
"""Errors of a controller that is away or ends just now; the last is any of a command that reads."""
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][\w:/-]*)=")

UNAVAILABLE = ("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown")
"""How reasons begin for which a job waits that asks for nodes which take no jobs."""
FINAL_STATES = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "TIMEOUT",
        "REVOKED",
    }
)
"""States in which no process of a job lives; one that ends is COMPLETING before."""


class SlurmAway(Exception):
    """The controller does not answer; what was asked for is to be asked again."""


class SlurmRefused(Exception):
    """Slurm refused what was asked for; the text says why, for the user."""


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job as `squeue` has it."""

    id: int
    state: str
    reason: str
    nodes: str
    name: str
    script: str = ""

    @property
    def is_final(self) -> bool:
        """Whether the job is over with all its processes."""
        return self.state in FINAL_STATES

    @property
    def was_not_launched(self) -> bool:
        """Whether it got nodes before it was cancelled; a job that waits is cancelled without."""
        return self.state == "CANCELLED" and bool(self.nodes)

    @property
    def is_held(self) -> bool:
        """Whether it waits to be released; what an administrator holds is another matter."""
        return self.state == "PENDING" and self.reason == "JobHeldUser"

    @property
    def has_no_nodes(self) -> bool:
        """Whether it waits for nodes that are drained, down or reserved."""
        return self.state == "PENDING" and self.reason.replace("_", " ").startswith(UNAVAILABLE)


class SlurmCommands:
    """Runs Slurm's commands; one that does not answer in time is as a controller that is away."""

    def __init__(self, *, configuration: str = "", search_path: str = "") -> None:
        found = {"PATH": search_path or os.environ.get("PATH", ""), "LC_ALL": "C"}
        path = configuration or os.environ.get("SLURM_CONF", "")
        self.environment = {**found, **({"SLURM_CONF": path} if path else {})}

    def jobs(self) -> list[JobRow]:
        """Returns all jobs that the controller knows, those included that ended of late."""
        output = self._run(
            "squeue", "-h", "-a", "-r", "-t", "all", "-o", SEPARATOR.join(QUEUE_FIELDS)
        )
        return [row for line in output.splitlines() if (row := _row(line)) is not None]

    def submit(self, options: Sequence[str], script: Path, hosts: Path | None) -> int:
        """Submits a job, and returns its id; `hosts` has the node of each rank, one a line."""
        placed = {"SLURM_HOSTFILE": str(hosts)} if hosts else {}
        output = self._run("sbatch", "--parsable", *options, str(script), extra=placed)
        return int(output.split(";")[0])

    def release(self, job: int) -> None:
        """Lets a job start that was submitted held."""
        self._run("scontrol", "release", str(job))

    def wake(self, job: int, name: str) -> None:
        """Has each rank of a job look at its orders, by a signal that else means nothing."""
        self._run("scancel", "--signal=URG", f"--name={name}", str(job))

    def cancel(self, job: int, name: str) -> None:
        """Ends a job, unless its number has become that of a job with another name."""
        self._run("scancel", f"--name={name}", str(job))

    def nodes(self) -> list[dict[str, str]]:
        """Returns the fields of each node."""
        return _records(self._run("scontrol", "show", "nodes", "-o"))

    def allocations(self) -> list[dict[str, str]]:
        """Returns the fields of each job and of its allocation; one for each kind of `Nodes`."""
        lines = self._run("scontrol", "show", "jobs", "-d", "-o").splitlines()
        found = []
        for line in lines:
            head, *parts = re.split(r"\s+(?=Nodes=\S+ CPU_IDs=)", line)
            fields = _fields(head)
            if fields.get("JobId"):
                found += [{**fields, **_fields(part)} for part in parts]
        return found

    def switches(self) -> list[dict[str, str]]:
        """Returns the fields of each switch; none where the cluster has no topology of them."""
        try:
            return _records(self._run("scontrol", "show", "topology"))
        except SlurmRefused:
            return []

    def settings(self) -> dict[str, str]:
        """Returns the configuration of the controller."""
        lines = self._run("scontrol", "show", "config").splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line)
        return {name.strip(): value.strip() for name, _, value in pairs}

    def partition(self, name: str) -> dict[str, str]:
        """Returns the fields of a partition. Raises `SlurmRefused` where there is none."""
        (found,) = _records(self._run("scontrol", "show", "partition", name, "-o"))
        return found

    def host_names(self, expression: str) -> list[str]:
        """Returns the names of an expression as `node[1-3,7]`."""
        if "[" not in expression:
            return [each for each in expression.split(",") if each]
        return self._run("scontrol", "show", "hostnames", expression).split()

    def _run(self, *command: str, extra: Mapping[str, str] | None = None) -> str:
        try:
            done = subprocess.run(
                command,
                env={**self.environment, **(extra or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS_FOR_A_COMMAND,
                check=False,
            )
        except FileNotFoundError as failure:
            raise SlurmRefused(f"{command[0]} is not installed on this host") from failure
        except subprocess.TimeoutExpired as failure:
            raise SlurmAway(f"{command[0]} did not answer in time") from failure
        if done.returncode == 0:
            return done.stdout
        text = " ".join((done.stderr or done.stdout).split())[:500]
        if AWAY.search(text):
            raise SlurmAway(text)
        raise SlurmRefused(text or f"{command[0]} ended with {done.returncode}")


def _row(line: str) -> JobRow | None:
    """Returns a job; None for a line that is none, as after a name with a line break."""
    fields = line.split(SEPARATOR, len(QUEUE_FIELDS) - 1)
    number = re.match(r"\d+", line)
    if number is None or len(fields) < len(QUEUE_FIELDS):
        return None
    _, state, reason, nodes, name, script = fields
    return JobRow(
        id=int(number[0]), state=state, reason=reason, nodes=nodes, name=name, script=script
    )


def _records(output: str) -> list[dict[str, str]]:
    return [found for line in output.splitlines() if (found := _fields(line))]


def _fields(line: str) -> dict[str, str]:
    """Returns the pairs `Name=value` of a line; values may have blanks, as the reason of a node."""
    names = list(_FIELD.finditer(line))
    if not names:
        return {}
    ends = [each.start() for each in names[1:]] + [len(line)]
    return {name[1]: line[name.end() : end].strip() for name, end in zip(names, ends, strict=True)}
