"""`token`, `whoami` and `version`: API tokens, the current user, client and server."""

from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.failures import Failure
from headgate.cli.options import ExpiresIn, NoHeaders, Output
from headgate.cli.presentation.output import Format, say, show, show_rows, show_value
from headgate.cli.presentation.units import age_of, seconds_of, timestamp_of
from headgate.cli.session import client_of, connection_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

tokens = typer.Typer(help="Tokens: what callers show to be let in.", no_args_is_help=True)


@tokens.command("create")
def create_token(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(help="The name of the token.")],
    role: Annotated[str, typer.Option(help="viewer, submitter, executor or admin.")],
    namespace: Annotated[list[str], typer.Option("--namespace", "-n", help="A submitter's.")] = [],  # noqa: B006
    expires_in: ExpiresIn = "",
    output: Output = Format.TABLE,
) -> None:
    """Make a token; its secret is shown this once."""
    asked: dict[str, object] = {"name": name, "role": role, "namespaces": namespace}
    if expires_in:
        length = int(seconds_of(expires_in) * MICROSECONDS_PER_SECOND)
        asked["expiresAt"] = timestamp_of(wall_clock() + length)
    with client_of(ctx) as client:
        made = client.act("/v1/tokens", asked)
    if not show_value(made, output):
        say(f"token {name} ({role}); its secret is not shown again:")
        show(made["secret"])


@tokens.command("list")
def list_tokens(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """List tokens, without their secrets."""
    with client_of(ctx) as client:
        found = client.read("/v1/tokens")
    if show_value(found, output):
        return
    now = wall_clock()
    rows = [
        [each["name"], each["role"], ",".join(each.get("namespaces", [])) or "-",
         age_of(each.get("createdAt"), now), each.get("expiresAt") or "never"]
        for each in found["items"]
    ]  # fmt: skip
    headers = ("name", "role", "namespaces", "age", "expires")
    show_rows(headers, rows, output, with_headers=not no_headers)


@tokens.command("revoke")
def revoke_token(ctx: typer.Context, names: Annotated[list[str], typer.Argument()]) -> None:
    """Make tokens worthless from now on."""
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
        say(f"{connection.url}, by {connection.source}")


def version(ctx: typer.Context) -> None:
    """Say which version this is, and which the server."""
    show(f"client {installed_version('headgate')}")
    try:
        with client_of(ctx, patience_seconds=1.0) as client:
            known = client.read("/v1/system")
    except Failure:
        say("server not reached")
        return
    show(f"server {known['version']} at log position {known['position']}")
