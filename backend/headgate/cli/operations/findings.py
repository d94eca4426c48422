"""Findings of the doctor: a line each, and those about clusters that this host reaches."""

import asyncio
import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from headgate.executor.substrates.kubernetes.access import NoAccess, find_access
from headgate.executor.substrates.kubernetes.api_server import Refused, ServerAway
from headgate.executor.substrates.kubernetes.nodes import review_cluster
from headgate.executor.substrates.ray.dashboard import Dashboard, RayAway, RayRefused
from headgate.executor.substrates.ray.wrapper import HOST_LABEL
from headgate.executor.substrates.slurm.command_line import SlurmAway, SlurmCommands, SlurmRefused
from headgate.executor.substrates.slurm.nodes import CLOSED, LOST, states_of

Level = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the report; warnings and failures have a remedy."""

    level: Level
    name: str
    text: str
    remedy: str = ""


def ok(name: str, text: str) -> Finding:
    """Returns a passed check."""
    return Finding("ok", name, text)


def warn(name: str, text: str, remedy: str) -> Finding:
    """Returns a check that passed with a problem."""
    return Finding("warn", name, text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    """Returns a failed check."""
    return Finding("fail", name, text, remedy)


SLURM_CONF = "/etc/slurm/slurm.conf"


def slurm(commands: SlurmCommands) -> list[Finding]:
    """Checks the Slurm cluster of this host; none where no configuration of one is found."""
    configured = commands.environment.get("SLURM_CONF", SLURM_CONF)
    if shutil.which("scontrol") is None or not Path(configured).exists():
        return []
    try:
        settings, nodes = commands.settings(), commands.nodes()
    except (SlurmAway, SlurmRefused) as failure:
        return [warn("slurm", str(failure), "Start slurmctld; jobs that run go on without it.")]
    states = [states_of(fields.get("State", "")) for fields in nodes]
    lost = sum(1 for each in states if each & LOST)
    closed = sum(1 for each in states if each & CLOSED and not each & LOST)
    text = f"{settings.get('SLURM_VERSION', '')}, {len(nodes)} nodes"
    text = f"{text}, {lost} down, {closed} drained or reserved"
    found = [ok("slurm", text)]
    if settings.get("SelectType") != "select/cons_tres":
        selected = f"SelectType is {settings.get('SelectType')}: jobs may take whole nodes"
        found.append(warn("slurm", selected, "Use select/cons_tres, by which Headgate counts."))
    return found


def ray(url: str) -> list[Finding]:
    """Checks the Ray cluster that `RAY_API_SERVER_ADDRESS` names; none where it names none."""
    if not url:
        return []
    with contextlib.closing(Dashboard(url)) as dashboard:
        try:
            release, nodes = dashboard.version(), dashboard.nodes()
        except (RayAway, RayRefused) as failure:
            return [warn("ray", str(failure), "Start the head of Ray; jobs end with it.")]
    unnamed = [node for node in nodes if HOST_LABEL not in node.labels]
    text = f"{release} at {url}, {len(nodes)} nodes, {len(nodes) - len(unnamed)} named"
    if unnamed:
        remedy = f"Start the others with `ray start --labels={HOST_LABEL}=NAME`."
        return [warn("ray", text, remedy)]
    return [ok("ray", text)]


def kubernetes(environment: Mapping[str, str]) -> list[Finding]:
    """Checks the Kubernetes cluster of this host; none where it has no kubeconfig and is no pod."""
    if not environment.get("KUBECONFIG") and "KUBERNETES_SERVICE_HOST" not in environment:
        return []
    try:
        access = find_access()
        seen = asyncio.run(review_cluster(access))
    except (NoAccess, ServerAway, Refused) as failure:
        remedy = "Check KUBECONFIG, and that its server answers; pods run on without it."
        return [warn("kubernetes", str(failure), remedy)]
    text = f"{seen.version} at {access.url}, {seen.nodes} nodes, {seen.not_ready} not ready"
    if not seen.lacking:
        return [ok("kubernetes", text)]
    lacking = f"{text}; an executor with these credentials may not {', '.join(seen.lacking)}"
    return [warn("kubernetes", lacking, "Bind the ClusterRole of deploy/kubernetes/rights.yaml.")]
