"""`headgate executor slurm`, `ray` and `kubernetes`: run pods in a cluster."""

import os
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headgate.adapters.system.clocks_and_randomness import pause
from headgate.adapters.system.process_start import raise_descriptor_limit
from headgate.cli.commands.agent import accounts_text
from headgate.cli.commands.submit import pairs
from headgate.cli.executor.command import stop_signal
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import connection_of, option
from headgate.cli.output import say
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.executor.process import ExecutorProcess, Superseded
from headgate.executor.substrate import Substrate
from headgate.executor.substrates.agent.pod_template import PodRules
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns, only_one
from headgate.executor.substrates.kubernetes.access import Access, NoAccess, find_access
from headgate.executor.substrates.kubernetes.cluster import KubernetesCluster, KubernetesSettings
from headgate.executor.substrates.kubernetes.jobs import AdoptedJobs
from headgate.executor.substrates.kubernetes.pod_manifest import ManifestRules
from headgate.executor.substrates.ray.cluster import RayCluster, RaySettings
from headgate.executor.substrates.ray.dashboard import Dashboard, RayAway, RayRefused
from headgate.executor.substrates.ray.wrapper import HOST_LABEL
from headgate.executor.substrates.slurm.cluster import SlurmCluster, SlurmSettings
from headgate.executor.substrates.slurm.command_line import SlurmAway, SlurmCommands, SlurmRefused
from headgate.executor.substrates.slurm.nodes import NodeRules

RETRY_SECONDS = 2.0
SUBMISSION_SECONDS = 1.0
LOOK_SECONDS = 0.2
NOT_FOUND, SERVER_ERROR = 404, 500
LOOKS_UNTIL_SAID = 10

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
    _run_slurm(_connection(ctx, token_file), settings)


def ray(
    ctx: typer.Context,
    *,
    dashboard: Annotated[str, option("URL", "Dashboard of the Ray cluster")],
    directory: Annotated[Path, option("DIRECTORY", "Jobs and journal of this executor")],
    name: Annotated[str, option("NAME", "Executor")] = "ray",
    labels: Annotated[Repeated, option("KEY=VALUE", "Labels of all nodes (repeatable)")] = [],  # noqa: B006 - Typer copies it
    token_file: Annotated[Path | None, option("FILE", "File with the API token")] = None,
    dashboard_token_file: Annotated[
        Path | None, option("FILE", "File with the token of the dashboard, if it wants one")
    ] = None,
    secrets_directory: Annotated[
        Path | None, option("DIRECTORY", "Secrets as files NAMESPACE/NAME/KEY")
    ] = None,
    python: Annotated[str, option("FILE", "Python with Ray on the nodes")] = "python",
) -> None:
    """Run pods as jobs of a Ray cluster (Ctrl-C to stop; jobs keep running).

    Nodes of Ray start with `--labels=headgate.dev/host=NAME`. Example:
    `headgate executor ray --dashboard http://head:8265 --directory /var/lib/headgate/ray`
    """
    settings = RaySettings(
        directory=directory,
        executor=name,
        labels=pairs(labels),
        secrets_directory=str(secrets_directory or ""),
        python=python,
    )
    token = dashboard_token_file.read_text().strip() if dashboard_token_file else ""
    _run_ray(_connection(ctx, token_file), settings, Dashboard(dashboard, token=token))


def kubernetes(
    ctx: typer.Context,
    *,
    directory: Annotated[Path, option("DIRECTORY", "Journal of reports, kept over restarts")],
    name: Annotated[str, option("NAME", "Executor")] = "kubernetes",
    kubeconfig: Annotated[
        Path | None, option("FILE", "Kubeconfig (default: this pod's cluster, or KUBECONFIG)")
    ] = None,
    context: Annotated[str, option("NAME", "Context of the kubeconfig")] = "",
    node_selector: Annotated[
        str, option("SELECTOR", "Nodes to serve, e.g. pool=gpu (default: all)")
    ] = "",
    labels: Annotated[Repeated, option("KEY=VALUE", "Labels of all nodes (repeatable)")] = [],  # noqa: B006 - Typer copies it
    priority_class: Annotated[
        str, option("NAME", "PriorityClass where a template names none")
    ] = "",
    service_account: Annotated[
        str, option("NAME", "ServiceAccount where a template names none")
    ] = "",
    start_seconds: Annotated[
        int, option("SECONDS", "How long pulling an image may fail", min=1)
    ] = 300,
    lost_seconds: Annotated[
        int, option("SECONDS", "When a node that is not ready is lost", min=0)
    ] = 60,
    token_file: Annotated[Path | None, option("FILE", "File with the API token")] = None,
) -> None:
    """Run pods in a Kubernetes cluster (Ctrl-C to stop; pods keep running).

    An admin applies an Executor of this name first, and creates a token for it. Example:
    `headgate executor kubernetes --name k8s --directory /var/lib/headgate --node-selector pool=gpu`
    """
    connection = _connection(ctx, token_file)
    settings = KubernetesSettings(
        rules=ManifestRules(
            executor=name, priority_class=priority_class, service_account=service_account
        ),
        node_selector=node_selector,
        labels=pairs(labels),
        start_seconds=float(start_seconds),
        lost_seconds=float(lost_seconds),
    )
    try:
        access = find_access(str(kubeconfig or ""), context)
    except NoAccess as failure:
        raise CommandFailed(
            str(failure), remedy="Name a file with --kubeconfig, or a --context of it."
        ) from failure
    try:
        with only_one(f"executor {name} of {connection.url}"):
            _run_kubernetes(connection, settings, access, directory)
    except AlreadyRuns as failure:
        raise CommandFailed(
            f"another process runs executor {name} on this host",
            code=ExitCode.CONFLICT,
            remedy="Stop it first, or use another --name.",
        ) from failure


def submit_jobs(connection: Connection, jobs: AdoptedJobs, stopped: threading.Event) -> None:
    """Submits suspended Jobs as workloads, and removes those of deleted ones, until stopped."""
    said: dict[str, str] = {}
    with HeadgateClient(connection) as client:
        while not stopped.wait(SUBMISSION_SECONDS):
            for job, manifest in jobs.to_submit():
                try:
                    (result,) = client.apply_objects([manifest]).results
                except (ServerUnreachable, ServerProblem) as failure:
                    told = str(failure)
                else:
                    told = str((result.problem or {}).get("detail", ""))
                    if result.problem is None:
                        jobs.note_submitted(job, f"{result.namespace}/{result.name}")
                if told and said.get(job.key) != told:
                    say(f"{job.key} is not submitted: {told}")
                said[job.key] = told
            for workload in jobs.to_withdraw():
                namespace, _, name = workload.partition("/")
                path = f"/v1/namespaces/{namespace}/workloads/{name}"
                try:
                    client.remove(path, reason="its Job was deleted in Kubernetes")
                except ServerUnreachable:
                    continue
                except ServerProblem as failure:
                    if failure.problem.status >= SERVER_ERROR:
                        continue
                    if failure.problem.status != NOT_FOUND:
                        say(f"{workload} is not withdrawn: {failure}")
                jobs.note_withdrawn(workload)


def _connection(ctx: typer.Context, token_file: Path | None) -> Connection:
    connection = connection_of(ctx)
    if token_file is None:
        return connection
    return msgspec.structs.replace(connection, token=token_file.read_text().strip())


def _run_kubernetes(
    connection: Connection, settings: KubernetesSettings, access: Access, directory: Path
) -> None:
    stopped = stop_signal()
    raise_descriptor_limit()  # each pod that is followed has a connection
    say(f"Kubernetes at {access.url}, by {access.origin}")
    cluster = KubernetesCluster(settings, access)
    try:
        looks = 0
        while not stopped.is_set() and not cluster.is_known():
            if looks % LOOKS_UNTIL_SAID == LOOKS_UNTIL_SAID - 1:
                say(f"Waiting for Kubernetes: {cluster.failure or 'its pods and nodes are listed'}")
            looks += 1
            pause(LOOK_SECONDS)
        if stopped.is_set():
            return
        say(f"Kubernetes has {len(cluster.nodes())} nodes for this executor")
        submission = threading.Thread(
            target=submit_jobs, args=(connection, cluster.jobs, stopped), daemon=True
        )
        submission.start()
        _run(connection, settings.rules.executor, cluster, directory, stopped.is_set)
    finally:
        cluster.close()


def _run_ray(connection: Connection, settings: RaySettings, dashboard: Dashboard) -> None:
    stopped = stop_signal()
    while not stopped.is_set() and not _has_nodes(dashboard):
        pause(RETRY_SECONDS)
    try:
        with only_one(f"ray-{settings.directory.resolve()}"):
            cluster = RayCluster(settings, dashboard)
            try:
                _run(connection, settings.executor, cluster, settings.directory, stopped.is_set)
            finally:
                cluster.close()
    except AlreadyRuns as failure:
        raise CommandFailed(
            f"an executor runs in {settings.directory}", remedy="Use another --directory."
        ) from failure


def _has_nodes(dashboard: Dashboard) -> bool:
    """Whether the dashboard answers. Raises `CommandFailed` where it refuses."""
    try:
        release, nodes = dashboard.version(), dashboard.nodes()
    except RayAway as failure:
        say(f"The dashboard of Ray does not answer: {failure}")
        return False
    except RayRefused as failure:
        remedy = "Name the dashboard of Ray, and a token if it wants one."
        raise CommandFailed(f"Ray: {failure}", remedy=remedy) from failure
    named = sum(1 for node in nodes if HOST_LABEL in node.labels)
    say(f"Ray {release} has {len(nodes)} nodes, {named} of them with the label {HOST_LABEL}")
    return True


def _run_slurm(connection: Connection, settings: SlurmSettings) -> None:
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
        _run(connection, name, cluster, directory, stopped.is_set)
    finally:
        cluster.close()


def _run(
    connection: Connection,
    name: str,
    substrate: Substrate,
    directory: Path,
    should_stop: Callable[[], bool],
) -> None:
    """Runs pods until a signal stops the executor; another one of its name supersedes it."""
    process = ExecutorProcess(connection, name, substrate, directory, say)
    try:
        # No boot id: the pods are the cluster's, and another host may take them over at once.
        process.run(should_stop, version=version("headgate"), boot_id="")
    except Superseded as failure:
        raise CommandFailed(str(failure), code=ExitCode.CONFLICT) from failure


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
