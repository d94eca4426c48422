"""`agent`: run the pods of this host."""

import contextlib
import os
import re
import socket
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headgate.cli.commands.submit import pairs
from headgate.cli.executor.command import stop_signal
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import connection_of, option
from headgate.cli.output import say
from headgate.client.executors import ExecutorClient
from headgate.client.transport import Connection
from headgate.domain.values.quantities import NotAQuantity, amount_of
from headgate.executor.process import ExecutorProcess, Superseded
from headgate.executor.substrate import Object
from headgate.executor.substrates.agent.host import AgentHost, HostSettings
from headgate.executor.substrates.agent.inventory import MAX_PODS, NodeSettings, NvmlInventory
from headgate.executor.substrates.agent.isolation import hide_memory, level_of
from headgate.executor.substrates.agent.pod_content import find_podman
from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.executor.substrates.agent.run_directory import boot_id
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns, only_one

ROOT_DIRECTORY = Path("/var/lib/headgate-agent")
USER_DIRECTORY = Path(".local") / "state" / "headgate-agent"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

Labels = Annotated[
    list[str], option("KEY=VALUE", "Node labels, e.g. topology-rack=r1 (repeatable or with ,)")
]
Quantity = Annotated[str, option("QUANTITY", "Not for pods, e.g. 500m")]


def agent(
    ctx: typer.Context,
    *,
    name: Annotated[str, option("NAME", "Executor (default: the host's name)")] = "",
    node: Annotated[str, option("NAME", "Node (default: the host's name)")] = "",
    labels: Labels = [],  # noqa: B006 - Typer copies it
    taint: Annotated[list[str], option("KEY=VALUE:EFFECT", "Taint (repeatable)")] = [],  # noqa: B006
    directory: Annotated[
        Path | None, option("DIRECTORY", "Runs and journal (default: the account's state)")
    ] = None,
    token_file: Annotated[Path | None, option("FILE", "File with the API token")] = None,
    account: Annotated[
        list[str], option("OWNER=ACCOUNT", "Unix account of a user's pods (repeatable)")
    ] = [],  # noqa: B006
    default_account: Annotated[str, option("ACCOUNT", "Unix account of other pods")] = "",
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="Permit pods to run as root")
    ] = False,
    allowed_host_path: Annotated[
        list[str], option("PATH", "Permit hostPath volumes below it (repeatable)")
    ] = [],  # noqa: B006
    secrets_directory: Annotated[
        Path | None, option("DIRECTORY", "Secrets as files NAMESPACE/NAME/KEY")
    ] = None,
    reserved_cpu: Quantity = "0",
    reserved_memory: Annotated[str, option("QUANTITY", "Not for pods, e.g. 2Gi")] = "0",
    max_pods: Annotated[int, option("NUMBER", "Maximum number of pods", min=1)] = MAX_PODS,
) -> None:
    """Run the pods of this host (Ctrl-C to stop; pods keep running).

    An admin applies an Executor of this name first, and creates a token for it. Example:
    `headgate agent --name rack-1 --labels topology-rack=r1 --token-file /etc/headgate/token`
    """
    connection = connection_of(ctx)
    if token_file is not None:
        token = token_file.read_text().strip()
        connection = msgspec.structs.replace(connection, token=token)
    hostname = host_name()
    executor = name or hostname
    rules = PodRules(
        accounts=pairs(account),
        default_account=default_account,
        allow_root=allow_root,
        allowed_host_paths=tuple(allowed_host_path),
        secrets_directory=str(secrets_directory or ""),
        search_path=os.environ.get("PATH", ""),
    )
    settings = HostSettings(
        directory=directory or _own_directory(),
        node=NodeSettings(
            name=node or hostname,
            executor=executor,
            labels=pairs([each for words in labels for each in words.split(",")]),
            taints=[_taint(each) for each in taint],
            reserved_cpu_milli=_reserved("cpu", reserved_cpu),
            reserved_memory_bytes=_reserved("memory", reserved_memory),
            max_pods=max_pods,
        ),
        rules=rules,
        podman=find_podman(),
    )
    run_agent(connection, settings)


def run_agent(connection: Connection, settings: HostSettings) -> None:
    """Runs the pods of this host until a signal stops the agent."""
    hide_memory()
    stopped = stop_signal()
    executor = settings.node.executor
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(only_one(f"executor {executor} of {connection.url}"))
        except AlreadyRuns as failure:
            raise CommandFailed(
                f"another agent runs for executor {executor} on this host",
                code=ExitCode.CONFLICT,
                remedy="Stop it first, or use another --name.",
            ) from failure
        _run_agent(connection, settings, stopped.is_set)


def _run_agent(
    connection: Connection, settings: HostSettings, should_stop: Callable[[], bool]
) -> None:
    def fetch(workload: str, digest: str) -> Iterator[bytes]:
        with ExecutorClient(connection, settings.node.executor) as client:
            yield from client.read_upload(workload, digest)

    try:
        host = AgentHost(settings, NvmlInventory(), fetch)
    except AlreadyRuns as failure:
        raise CommandFailed(str(failure), remedy="Use another --directory.") from failure
    say(f"Isolation: {level_of(host.cgroups)}. {accounts_text(settings.rules)}")
    images = "by podman" if settings.podman else "none (podman and an agent as root give them)"
    say(f"Images: {images}")
    process = ExecutorProcess(connection, settings.node.executor, host, settings.directory, say)
    try:
        process.run(should_stop, version=version("headgate"), boot_id=boot_id())
    except Superseded as failure:
        raise CommandFailed(str(failure), code=ExitCode.CONFLICT) from failure
    finally:
        host.close()


def accounts_text(rules: PodRules) -> str:
    """Says as which account pods run; it is the first thing that an administrator must know."""
    if os.geteuid() != 0:
        return f"Pods run as the executor's own account (uid {os.geteuid()})"
    if rules.accounts or rules.default_account:
        named = ", ".join(f"{owner} as {name}" for owner, name in sorted(rules.accounts.items()))
        others = rules.default_account or ("root" if rules.allow_root else "no account: refused")
        return f"Pods run by owner: {named or 'none'}; others as {others}"
    if rules.allow_root:
        return "Pods run as root (--allow-root)"
    return "Pods are refused: map owners to accounts with --account or --default-account"


def host_name() -> str:
    """Returns the host's name as a name of an object."""
    found = re.sub(r"[^a-z0-9.-]+", "-", socket.gethostname().lower()).strip("-.")
    return found or "localhost"


def _own_directory() -> Path:
    return ROOT_DIRECTORY if os.geteuid() == 0 else Path.home() / USER_DIRECTORY


def _taint(text: str) -> Object:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if not key or effect not in EFFECTS:
        raise CommandFailed(
            f"{text!r} is not KEY=VALUE:EFFECT with an effect of {', '.join(EFFECTS)}",
            code=ExitCode.USAGE,
        )
    return {"key": key, "value": value, "effect": effect}


def _reserved(resource: str, text: str) -> int:
    try:
        return amount_of(resource, text)
    except NotAQuantity as error:
        raise CommandFailed(str(error), code=ExitCode.USAGE) from error
