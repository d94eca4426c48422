"""The environment as one frozen value; nothing else reads environment variables."""

import os
from pathlib import Path

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are and how processes behave.

    Empty `database_url` and `broker_url` mean the embedded servers under `directory`. `url` and
    `token` are for clients: which Headgate to talk to, and what to show it. A worker touches
    `heartbeat_file` at every turn.
    """

    database_url: str = ""
    broker_url: str = ""
    directory: Path = Path(".headgate")
    host: str = "127.0.0.1"
    port: int = 8080
    url: str = ""
    token: str = ""
    admin_token: str = ""
    ui_directory: Path = Path("frontend/dist")
    log_level: str = "info"
    sweep_seconds: float = 0.5
    cycle_budget_milliseconds: int = 200
    heartbeat_file: Path | None = None


def from_environment(environment: dict[str, str] | None = None) -> Settings:
    """Settings from `HEADGATE_<NAME>` variables, with defaults for what is not set."""
    values = dict(os.environ if environment is None else environment)
    named = {
        field.name: values[f"HEADGATE_{field.name.upper()}"]
        for field in msgspec.structs.fields(Settings)
        if f"HEADGATE_{field.name.upper()}" in values
    }
    return msgspec.convert(named, Settings, strict=False, dec_hook=_path)


def _path(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise TypeError(f"no setting has the type {kind}")
