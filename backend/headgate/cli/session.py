"""The connection and client of a command, from its global options."""

from pathlib import Path

import msgspec
import typer

from headgate.cli.presentation.output import say
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection, find_connection
from headgate.settings import from_environment


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The global options."""

    server: str = ""
    token: str = ""
    at: str = ""
    cacert: str = ""


def connection_of(ctx: typer.Context) -> Connection:
    """Returns the connection by global options, environment, user file or local instance."""
    flags = ctx.find_object(Flags) or Flags()
    settings = from_environment()
    return find_connection(
        server=flags.server,
        token=flags.token,
        environment=(settings.url, settings.token),
        cacert=flags.cacert or str(settings.cacert or ""),
        home=Path.home(),
        directory=settings.directory,
    )


def client_of(ctx: typer.Context, *, patience_seconds: float = 10.0) -> HeadgateClient:
    """Returns a client of the chosen server; `with` closes it.

    `--at` is resolved to a position once, so that all pages show one state.
    """
    client = HeadgateClient(connection_of(ctx), patience_seconds=patience_seconds)
    flags = ctx.find_object(Flags) or Flags()
    if flags.at:
        try:
            position = client.view_at(flags.at)
        except Exception:
            client.close()
            raise
        say(f"Past state at position {position} (read-only)")
    return client
