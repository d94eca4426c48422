"""Completion of kinds, names and namespaces, quick or not at all."""

import typer

from headgate.cli.failures import Failure
from headgate.cli.kinds import KINDS, kind_of
from headgate.cli.session import connection_of
from headgate.client.client import HeadgateClient

PATIENCE_SECONDS = 1.0
AT_MOST = "200"


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Kinds for the first word, names of that kind after it."""
    words = ctx.params.get("names") or ctx.params.get("objects") or []
    if not words:
        return [kind.words[0] for kind in KINDS if kind.words[0].startswith(incomplete)]
    try:
        kind = kind_of(str(words[0]))
    except Failure:
        return []
    return _names(ctx, kind.path(_namespace(ctx) if kind.namespaced else ""), incomplete)


def complete_workloads(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of workloads."""
    return _names(ctx, f"/v1/namespaces/{_namespace(ctx)}/workloads", incomplete)


def complete_cluster_queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of ClusterQueues."""
    return _names(ctx, "/v1/clusterqueues", incomplete)


def complete_nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of nodes."""
    return _names(ctx, "/v1/nodes", incomplete)


def complete_namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of namespaces."""
    return _names(ctx, "/v1/namespaces", incomplete)


def _namespace(ctx: typer.Context) -> str:
    return str(ctx.params.get("namespace") or "default")


def _names(ctx: typer.Context, path: str, incomplete: str) -> list[str]:
    try:
        with HeadgateClient(connection_of(ctx), patience_seconds=PATIENCE_SECONDS) as client:
            found = client.read(path, {"limit": AT_MOST})["items"]
    except Failure:
        return []
    names = (str(item["metadata"]["name"]) for item in found)
    return [name for name in names if name.startswith(incomplete)]
