"""`headgate executor slurm`: run pods as jobs of a Slurm cluster."""

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headgate.adapters.system.clocks_and_randomness import pause
from headgate.cli.commands.agent import accounts_text
from headgate.cli.commands.submit import pairs
from headgate.cli.executor.command import stop_signal
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import connection_of, option
from headgate.cli.output import say
from headgate.client.transport import Connection
from headgate.executor.process import ExecutorProcess, Superseded
from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns
from headgate.executor.substrates.slurm.cluster import SlurmCluster, SlurmSettings
from headgate.executor.substrates.slurm.command_line import SlurmAway, SlurmCommands, SlurmRefused
from headgate.executor.substrates.slurm.nodes import NodeRules

RETRY_SECONDS = 2.0

Repeated = list[str]


def slurm(
    ctx: typer.Context,
    *,
    directory: Annotated[
        Path, option("DIRECTORY", "Runs and journal, on a file system that all nodes share")
    ],
    name: Annotated[str, option("NAME", "Executor")] = "slurm",
    partition: Annotated[str, option("NAME", "Partition (default: that of Slurm)")] = "",
    labels: Annotated[Repeated, option("KEY=VALUE", "Labels of all nodes (repeatable)")] = [],  # noqa: B006 - Typer copies it
    level: Annotated[
        Repeated, option("PREFIX=KEY", "Label of features with a prefix, e.g. rack-=topology-rack")
    ] = [],  # noqa: B006 - same
    token_file: Annotated[Path | None, option("FILE", "File with the API token")] = None,
    account: Annotated[
        Repeated, option("OWNER=ACCOUNT", "Unix account of a user's pods (repeatable)")
    ] = [],  # noqa: B006 - same
    default_account: Annotated[str, option("ACCOUNT", "Unix account of other pods")] = "",
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="Permit pods to run as root")
    ] = False,
    secrets_directory: Annotated[
        Path | None, option("DIRECTORY", "Secrets as files NAMESPACE/NAME/KEY")
    ] = None,
    python: Annotated[
        Path | None, option("FILE", "Python with headgate on the nodes (default: this one)")
    ] = None,
    sbatch_option: Annotated[
        Repeated, option("OPTION", "Option for each sbatch, e.g. --qos=high (repeatable)")
    ] = [],  # noqa: B006 - same
    default_memory: Annotated[
        int, option("MEBIBYTES", "Memory of pods that request none", min=1)
    ] = 100,
) -> None:
    """Run pods as jobs of a Slurm cluster (Ctrl-C to stop; jobs keep running).

    An admin applies an Executor of this name first, and creates a token for it. Example:
    `headgate executor slurm --name slurm --partition gpu --directory /shared/headgate`
    """
    connection = connection_of(ctx)
    if token_file is not None:
        token = token_file.read_text().strip()
        connection = msgspec.structs.replace(connection, token=token)
    settings = SlurmSettings(
        directory=directory,
        nodes=NodeRules(
            executor=name,
            partition=partition,
            labels=pairs(labels),
            levels=pairs(level),
        ),
        rules=PodRules(
            accounts=pairs(account),
            default_account=default_account,
            allow_root=allow_root,
            secrets_directory=str(secrets_directory or ""),
            search_path=os.environ.get("PATH", ""),
        ),
        python=str(python or sys.executable),
        sbatch_options=tuple(sbatch_option),
        default_memory_mebibytes=default_memory,
    )
    run_cluster(connection, settings)


def run_cluster(connection: Connection, settings: SlurmSettings) -> None:
    """Runs pods as jobs of a cluster until a signal stops the executor."""
    stopped = stop_signal()
    commands = SlurmCommands()
    configured = commands.environment.get("SLURM_CONF")
    if configured and not Path(configured).is_file():
        # Slurm's commands would look for a controller by name, and wait.
        raise CommandFailed(f"SLURM_CONF={configured} is no file", remedy="Name slurm.conf there.")
    name, directory = settings.nodes.executor, settings.directory
    try:
        cluster = SlurmCluster(settings, commands)
    except AlreadyRuns as failure:
        raise CommandFailed(str(failure), remedy="Use another --directory.") from failure
    try:
        while not stopped.is_set() and not _has_answered(commands, settings.nodes.partition):
            pause(RETRY_SECONDS)
        say(accounts_text(settings.rules))
        process = ExecutorProcess(connection, name, cluster, directory, say)
        # No boot id: the pods are the cluster's, and another host may take them over at once.
        process.run(stopped.is_set, version=version("headgate"), boot_id="")
    except Superseded as failure:
        raise CommandFailed(str(failure), code=ExitCode.CONFLICT) from failure
    finally:
        cluster.close()


def _has_answered(commands: SlurmCommands, partition: str) -> bool:
    """Whether the controller answers. Raises `CommandFailed` where it refuses."""
    try:
        found = commands.nodes()
        if partition:
            commands.partition(partition)
    except SlurmAway as failure:
        say(f"The Slurm controller does not answer: {failure}")
        return False
    except SlurmRefused as failure:
        raise CommandFailed(
            f"Slurm: {failure}", remedy="Install slurm-client, and set SLURM_CONF or --partition."
        ) from failure
    say(f"Slurm has {len(found)} nodes")
    return True
