"""Where a client finds its server: flags, environment, contexts of the user, local server."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from headgate.client.transport import Connection

CONFIGURATION_PATH = Path(".config") / "headgate" / "config"
RUN_FILE = "run.json"
DEFAULT_URL = "http://127.0.0.1:8080"


class UnsafeConfiguration(Exception):
    """The file with the token is readable by other users."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} contains a token and is readable by other users")
        self.path = path


def find_connection(  # noqa: PLR0913 - where a connection is looked for
    *,
    server: str = "",
    token: str = "",
    context: str = "",
    environment: tuple[str, str] = ("", ""),
    cacert: str = "",
    home: Path,
    directory: Path,
) -> Connection:
    """Returns the connection by flags, environment (url, token), user file or local server.

    A context that is named comes before the environment; raises `UnknownContext`. An address
    without a token is completed by a kept token of the same address; a token that belongs to
    another address is never sent.
    """
    url_there, token_there = ("", "") if context else environment
    if server or url_there:
        found = Connection(
            url=server or url_there,
            token=token or token_there,
            source="flags and environment",
            cacert=cacert,
        )
        return _completed(found, home, directory)
    kept = _from_file(home / CONFIGURATION_PATH, context) or _from_run_file(directory / RUN_FILE)
    base = kept or Connection(url=DEFAULT_URL, token="", source="default")
    return msgspec.structs.replace(
        base, token=token or token_there or base.token, cacert=cacert or base.cacert
    )


def _completed(found: Connection, home: Path, directory: Path) -> Connection:
    local = _from_run_file(directory / RUN_FILE)
    if local is not None and _is_same_address(local, found):
        found = msgspec.structs.replace(found, is_supervised=local.is_supervised)
    if found.token:
        return found
    for kept in (_from_file(home / CONFIGURATION_PATH), local):
        if kept is not None and _is_same_address(kept, found):
            return msgspec.structs.replace(
                found, token=kept.token, cacert=found.cacert or kept.cacert
            )
    return found


def _is_same_address(one: Connection, other: Connection) -> bool:
    return one.url.rstrip("/") == other.url.rstrip("/")


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server and the token for it, under a name in the user's file."""

    server: str = DEFAULT_URL
    token: str = ""
    cacert: str = ""


class Contexts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contexts of a user, and the name of the current one."""

    current: str = ""
    contexts: dict[str, Context] = {}


class UnknownContext(Exception):
    """The user's file has no context of that name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"there is no context {name}")
        self.known = known


ONLY_CONTEXT = "default"
"""The name of the context of a file that names none: server, token and cacert at the top."""


def read_contexts(path: Path) -> Contexts:
    """Returns the contexts of a user's file, none without one; raises `UnsafeConfiguration`."""
    if not path.is_file():
        return Contexts()
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UnsafeConfiguration(path)
    kept = tomllib.loads(path.read_text())
    if "contexts" in kept or "current" in kept:
        return msgspec.convert(kept, Contexts)
    only = {ONLY_CONTEXT: msgspec.convert(kept, Context)} if kept else {}
    return Contexts(current=ONLY_CONTEXT if only else "", contexts=only)


def write_contexts(path: Path, contexts: Contexts) -> None:
    """Replaces a user's file, which other users cannot read."""
    lines = [f"current = {_toml(contexts.current)}"]
    for name, context in sorted(contexts.contexts.items()):
        lines += ["", f"[contexts.{_toml(name)}]"]
        fields = msgspec.structs.asdict(context)
        lines += [f"{field} = {_toml(value)}" for field, value in fields.items() if value]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text("\n".join([*lines, ""]))
    draft.replace(path)


def _toml(text: str) -> str:
    """A basic string of TOML; its escapes are those of JSON."""
    return msgspec.json.encode(text).decode()


def _from_file(path: Path, name: str = "") -> Connection | None:
    kept = read_contexts(path)
    context = kept.contexts.get(name or kept.current)
    if context is None:
        if name:
            raise UnknownContext(name, sorted(kept.contexts))
        return None
    return Connection(
        url=context.server, token=context.token, source=str(path), cacert=context.cacert
    )


def _from_run_file(path: Path) -> Connection | None:
    """Returns the connection that a running `headgate up` wrote: URL and admin token."""
    if not path.is_file():
        return None
    running: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    token_path = Path(str(running.get("token_path", "")))
    if not token_path.is_file():  # written relative to where `headgate up` was started
        token_path = path.parent / token_path.name
    token = token_path.read_text().strip() if token_path.is_file() else ""
    return Connection(
        url=str(running.get("url", DEFAULT_URL)),
        token=token,
        source=str(path),
        cacert=str(running.get("cacert", "")),
        is_supervised=_is_alive(int(running.get("pid", 0))),
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0
