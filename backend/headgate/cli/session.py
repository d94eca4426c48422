"""What a command has at hand: the connection it was told to use."""

from pathlib import Path

import msgspec
import typer

from headgate.cli.presentation.output import say
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection, find_connection
from headgate.settings import from_environment


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The options that stand before every command."""

    server: str = ""
    token: str = ""
    at: str = ""


def connection_of(ctx: typer.Context) -> Connection:
    """Where the flags, the environment, the user's file or the local instance point."""
    flags = ctx.find_object(Flags) or Flags()
    settings = from_environment()
    return find_connection(
        server=flags.server,
        token=flags.token,
        environment=(settings.url, settings.token),
        home=Path.home(),
        directory=settings.directory,
    )


def client_of(ctx: typer.Context, *, patience_seconds: float = 10.0) -> HeadgateClient:
    """A client of the server the command was told to use; closed by `with`.

    With `--at` it sees the past: the position is found once, so that all pages are of one moment.
    """
    client = HeadgateClient(connection_of(ctx), patience_seconds=patience_seconds)
    flags = ctx.find_object(Flags) or Flags()
    if flags.at:
        try:
            position = client.view_at(flags.at)
        except Exception:
            client.close()
            raise
        say(f"as of log position {position}")
    return client
