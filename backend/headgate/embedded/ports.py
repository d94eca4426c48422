"""The choice of a port, and the process that uses a given one."""

import socket

import psutil

PORTS_TRIED = 50


class PortTaken(RuntimeError):
    """The requested port is in use; the message names its process, if known."""


def choose_port(host: str, wanted: int, *, may_move: bool) -> int:
    """Returns the wanted port if it is free, else the next free one; 0 selects any.

    Raises `PortTaken` where the port may not change, or no port nearby is free.
    """
    if wanted == 0:
        return _any_port(host)
    candidates = range(wanted, min(wanted + PORTS_TRIED, 65_536)) if may_move else (wanted,)
    for port in candidates:
        if is_free(host, port):
            return port
    raise PortTaken(f"port {wanted} on {host} is in use{holder_of(wanted)}")


def is_free(host: str, port: int) -> bool:
    """Returns whether a server can listen on a port."""
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        # As the server does: a port with connections that are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def holder_of(port: int) -> str:
    """Returns ` by <program> (process <pid>)`, or nothing where it is unknown."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,):
                return f" by {_name_of(connection.pid)}" if connection.pid else ""
    except (psutil.AccessDenied, PermissionError):
        return ""
    return ""


def _name_of(pid: int) -> str:
    try:
        return f"{psutil.Process(pid).name()} (process {pid})"
    except psutil.NoSuchProcess:
        return f"process {pid}"


def _any_port(host: str) -> int:
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
