"""Requests of a replay go out on a connection and a thread of their own."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headgate.cli.replay.runner import Sender
from headgate.client.transport import Connection


class Answering(BaseHTTPRequestHandler):
    """Answers every request and leaves the connection open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def connection() -> Iterator[Connection]:
    """A server that answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Connection(url=f"http://127.0.0.1:{server.server_port}", token="", source="test")
        server.shutdown()
        thread.join()


def test_a_connection_that_is_being_made_is_not_left_open_behind(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting, closing = threading.Event(), threading.Event()
    connected: list[socket.socket] = []
    connect = socket.create_connection

    def slow(*args: Any, **options: Any) -> socket.socket:
        connecting.set()
        closing.wait(180)
        connected.append(connect(*args, **options))
        return connected[-1]

    monkeypatch.setattr(socket, "create_connection", slow)
    sender = Sender(connection, patience_seconds=180)
    answer = sender.send(lambda client: client.read("/"))
    connecting.wait(180)
    closing.set()
    sender.close()
    assert answer.done()
    assert [each.fileno() for each in connected] == [-1]
