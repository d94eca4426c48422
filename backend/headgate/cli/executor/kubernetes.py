"""`headgate executor kubernetes`: run pods in a Kubernetes cluster."""

import contextlib
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headgate.adapters.system.clocks_and_randomness import pause
from headgate.cli.commands.submit import pairs
from headgate.cli.executor.command import stop_signal
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import connection_of, option
from headgate.cli.output import say
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.executor.process import ExecutorProcess, Superseded
from headgate.executor.substrates.agent.wake_socket import AlreadyRuns, only_one
from headgate.executor.substrates.kubernetes.access import Access, NoAccess, find_access
from headgate.executor.substrates.kubernetes.cluster import KubernetesCluster, KubernetesSettings
from headgate.executor.substrates.kubernetes.jobs import AdoptedJobs
from headgate.executor.substrates.kubernetes.pod_manifest import ManifestRules

JOBS_SECONDS = 1.0
LOOK_SECONDS = 0.2
LOOKS_UNTIL_SAID = 10

Repeated = list[str]


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
    connection = connection_of(ctx)
    if token_file is not None:
        token = token_file.read_text().strip()
        connection = msgspec.structs.replace(connection, token=token)
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
            _run(connection, settings, access, directory)
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
        while not stopped.wait(JOBS_SECONDS):
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
                with contextlib.suppress(ServerUnreachable, ServerProblem):
                    path = f"/v1/namespaces/{namespace}/workloads/{name}"
                    client.remove(path, reason="its Job was deleted in Kubernetes")


def _run(
    connection: Connection, settings: KubernetesSettings, access: Access, directory: Path
) -> None:
    """Runs pods in a cluster until a signal stops the executor."""
    stopped = stop_signal()
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
        process = ExecutorProcess(connection, settings.rules.executor, cluster, directory, say)
        # No boot id: the pods are the cluster's, and another host may take them over at once.
        process.run(stopped.is_set, version=version("headgate"), boot_id="")
    except Superseded as failure:
        raise CommandFailed(str(failure), code=ExitCode.CONFLICT) from failure
    finally:
        cluster.close()
