"""The server and token of a client, from flags, environment, user file or local instance."""

import ssl
import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec

CONFIGURATION_PATH = Path(".config") / "headgate" / "config"
RUN_FILE = "run.json"
DEFAULT_URL = "http://127.0.0.1:8080"


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The address of an API and the token to show it; `source` says where they were found.

    `cacert` is a file of certificates that are trusted beside those of the system; empty for none.
    """

    url: str
    token: str
    source: str
    cacert: str = ""


class UnsafeConfiguration(Exception):
    """The file with the token is readable by other users."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} contains a token and is readable by other users")
        self.path = path


class UnusableCertificates(Exception):
    """The file of trusted certificates is not there or holds none."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} holds no certificates that can be read")
        self.path = path


def trust_of(connection: Connection) -> ssl.SSLContext:
    """Returns what TLS connections trust; raises `UnusableCertificates`.

    Without TLS it is nothing: reading the system's certificates takes longer than most requests.
    """
    if not connection.url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted = ssl.create_default_context()
    if connection.cacert:
        try:
            trusted.load_verify_locations(connection.cacert)
        except OSError as failure:
            raise UnusableCertificates(connection.cacert) from failure
    return trusted


def find_connection(  # noqa: PLR0913 - where a connection is looked for
    *,
    server: str = "",
    token: str = "",
    environment: tuple[str, str] = ("", ""),
    cacert: str = "",
    home: Path,
    directory: Path,
) -> Connection:
    """Returns the connection by flags, environment (url, token), user file or local server.

    An address without a token is completed by a kept token of the same address; a token
    that belongs to another address is never sent.
    """
    url_there, token_there = environment
    if server or url_there:
        found = Connection(
            url=server or url_there,
            token=token or token_there,
            source="flags and environment",
            cacert=cacert,
        )
        return found if found.token else _completed(found, home, directory)
    kept = _from_file(home / CONFIGURATION_PATH) or _from_run_file(directory / RUN_FILE)
    base = kept or Connection(url=DEFAULT_URL, token="", source="default")
    return msgspec.structs.replace(
        base, token=token or token_there or base.token, cacert=cacert or base.cacert
    )


def _completed(found: Connection, home: Path, directory: Path) -> Connection:
    for kept in (_from_file(home / CONFIGURATION_PATH), _from_run_file(directory / RUN_FILE)):
        if kept is not None and kept.url.rstrip("/") == found.url.rstrip("/"):
            return msgspec.structs.replace(
                found, token=kept.token, cacert=found.cacert or kept.cacert
            )
    return found


def _from_file(path: Path) -> Connection | None:
    if not path.is_file():
        return None
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UnsafeConfiguration(path)
    kept = tomllib.loads(path.read_text())
    return Connection(
        url=str(kept.get("server", DEFAULT_URL)),
        token=str(kept.get("token", "")),
        source=str(path),
        cacert=str(kept.get("cacert", "")),
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
    )
