"""A receiver of webhooks: a real HTTP server that keeps what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, NamedTuple

import msgspec

SECONDS_TO_RECEIVE = 60.0


class Received(NamedTuple):
    """One request: its headers by lower-case name, and its body as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        """The body as JSON."""
        found: dict[str, Any] = msgspec.json.decode(self.body)
        return found


class Receiver:
    """What it was sent so far; `statuses` are answered first, in order, then 204."""

    def __init__(self, statuses: list[int]) -> None:
        self.requests: list[Received] = []
        self.statuses = statuses
        self.port = 0
        self._changed = threading.Condition()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/alerts"

    def take(self, received: Received) -> int:
        """Keep a request; the status of its answer."""
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
            return self.statuses.pop(0) if self.statuses else 204

    def wait_for(self, kind: str, count: int = 1) -> Received:
        """The request that was sent as the `count`th of a type."""

        def found() -> list[Received]:
            return [each for each in self.requests if each.content["type"] == kind]

        with self._changed:
            said = self._changed.wait_for(lambda: len(found()) >= count, SECONDS_TO_RECEIVE)
            assert said, f"{kind} was not sent, but {[each.content for each in self.requests]}"
            return found()[count - 1]


@contextmanager
def receiving(*statuses: int, tls: SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver for the while."""
    receiver = Receiver(list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(receiver.take(Received(headers, body)))
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing in the output of tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
