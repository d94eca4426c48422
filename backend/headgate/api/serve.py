"""`python -m headgate.api.serve` runs the API on Granian, with limits on connections and time.

It becomes the server and so imports little: the server's own process imports the application.
"""

import os
import resource
import sys

from headgate.adapters.system.process_start import (
    StartRefused,
    check_admin_token,
    check_traces,
    raise_descriptor_limit,
    tls_of,
)
from headgate.application.access.request_limits import InvalidLimits, read_limits
from headgate.settings import InvalidSetting, Settings, from_environment

RESERVED_DESCRIPTORS = 256
"""For the log, the database, the broker and files."""
BACKLOG = 4_096
"""Connections that the kernel keeps until they are accepted; it allows no more by default."""
MAX_CONNECTIONS = 16_384


def server_command(settings: Settings) -> tuple[str, ...]:
    """Returns the command of the server; open event streams do not delay its end.

    The limit on the time to read a header also ends connections that say nothing. Granian has it
    for HTTP/1 alone, and one that detects the version waits for ever for the first byte. Raises
    `StartRefused`.
    """
    tls = tls_of(settings)
    secured = (
        ("--ssl-certificate", str(tls.certificate), "--ssl-keyfile", str(tls.key)) if tls else ()
    )
    return (
        sys.executable, "-m", "granian", "--interface", "asgi", "--factory", "--no-ws",
        "--http", "1", "--host", settings.host, "--port", str(settings.port), "--workers", "1",
        "--backlog", str(BACKLOG), "--backpressure", str(_max_connections()),
        "--http1-header-read-timeout", str(round(settings.idle_seconds * 1_000)),
        "--workers-kill-timeout", "2", "--log-level", "warning",
        *secured, "headgate.api.bounded_application:create_bounded_app",
    )  # fmt: skip


def _max_connections() -> int:
    """Connections that are accepted, the silent ones included; the rest waits in the backlog."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, soft - RESERVED_DESCRIPTORS))


def main() -> None:
    """Becomes the server."""
    raise_descriptor_limit()
    try:
        settings = from_environment()
        check_admin_token(settings.admin_token)
        check_traces(is_on=settings.traces)
        read_limits(settings.request_limits)
        command = server_command(settings)
    except (InvalidSetting, StartRefused, InvalidLimits) as refused:
        raise SystemExit(f"headgate: {refused}") from refused
    os.execv(command[0], command)  # noqa: S606 - a program and arguments of our own


if __name__ == "__main__":
    main()
