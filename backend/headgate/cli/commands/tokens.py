"""`token`, `whoami` and `version`: API tokens, the current user, client and server."""

from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from headgate.cli.commands.actions import with_expiry
from headgate.cli.failures import Failure
from headgate.cli.options import ExpiresIn, NoHeaders, Output, argument, option
from headgate.cli.presentation.output import Format, say, show, show_answer, show_value
from headgate.cli.presentation.units import age_of
from headgate.cli.session import client_of, connection_of


def create_token(
    ctx: typer.Context,
    *,
    name: Annotated[str, argument("NAME", "Token name")],
    role: Annotated[str, option("ROLE", "viewer, submitter, executor or admin")],
    namespace: Annotated[
        list[str], option("NAME", "Allowed namespace (repeatable)", "--namespace", "-n")
    ] = [],  # noqa: B006 - Typer copies it
    expires_in: ExpiresIn = "",
    output: Output = Format.TABLE,
) -> None:
    """Create a token (the secret is shown only once)."""
    body = with_expiry({"name": name, "role": role, "namespaces": namespace}, expires_in)
    with client_of(ctx) as client:
        created = client.act("/v1/tokens", body)
    if not show_value(created, output):
        say(f"Token {name} ({role}). The secret is shown only once:")
        show(created["secret"])


def list_tokens(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """List tokens (without secrets)."""
    with client_of(ctx) as client:
        found = client.read("/v1/tokens")
    rows = [
        [each["name"], each["role"], ",".join(each.get("namespaces", [])) or "-",
         age_of(each.get("createdAt")), each.get("expiresAt") or "never"]
        for each in found["items"]
    ]  # fmt: skip
    headers = ("name", "role", "namespaces", "age", "expires")
    show_answer(found, headers, rows, output, no_headers=no_headers)


def revoke_token(
    ctx: typer.Context, names: Annotated[list[str], typer.Argument(metavar="NAME")]
) -> None:
    """Revoke tokens."""
    with client_of(ctx) as client:
        for name in names:
            client.remove(f"/v1/tokens/{name}")
            show(f"token/{name} revoked")


def whoami(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the current user and server."""
    connection = connection_of(ctx)
    with client_of(ctx) as client:
        known = client.read("/v1/whoami")
    if not show_value(known, output):
        namespaces = ", ".join(known.get("namespaces") or []) or "all namespaces"
        show(f"{known['name']} ({known['role']}, {namespaces})")
        say(f"{connection.url} (from {connection.source})")


def version(ctx: typer.Context) -> None:
    """Show client and server version."""
    show(f"client {installed_version('headgate')}")
    try:
        with client_of(ctx, patience_seconds=1.0) as client:
            known = client.read("/v1/system")
    except Failure:
        say("server unreachable")
        return
    show(f"server {known['version']}, log position {known['position']}")
