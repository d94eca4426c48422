"""A connection with a thread of its own, on which requests go out one after the other."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection

Result = TypeVar("Result")


class Sender:
    """Sends beside whoever asks it to; each answer comes as a future."""

    def __init__(self, connection: Connection, patience_seconds: float) -> None:
        self._client = HeadgateClient(connection, patience_seconds=patience_seconds)
        self._thread = ThreadPoolExecutor(1)

    def send(self, request: Callable[[HeadgateClient], Result]) -> Future[Result]:
        """Send a request once all before it have been answered."""
        return self._thread.submit(request, self._client)

    def close(self) -> None:
        """Wait for the answer that is due, forget what was not sent yet, and hang up.

        Not before: a connection that is still being made when its client is closed stays open.
        """
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._client.close()
