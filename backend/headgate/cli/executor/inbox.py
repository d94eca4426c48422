"""The log, read by a thread of its own, so that whoever acts on it never waits for it."""

import queue
import threading
from collections.abc import Iterator

from headgate.client.client import HeadgateClient
from headgate.client.shapes import Event, Quiet, StreamReset

Item = Event | StreamReset | Quiet | Exception


class Inbox:
    """Everything asked for after a position, in order; the thread ends with the process."""

    def __init__(
        self,
        client: HeadgateClient,
        *,
        after: int,
        types: tuple[str, ...],
        streams: tuple[str, ...] = (),
    ) -> None:
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._source = client.follow(after, types=types, streams=streams)
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def wait(self, seconds: float) -> Iterator[Event | StreamReset]:
        """What has come, after up to `seconds` for the first; raises what the reader met."""
        try:
            item = self._items.get(timeout=max(seconds, 0.0005))
        except queue.Empty:
            return
        while True:
            if isinstance(item, Exception):
                raise item
            if not isinstance(item, Quiet):
                yield item
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                return

    def _read(self) -> None:
        try:
            for item in self._source:
                self._items.put(item)
        except Exception as failure:  # noqa: BLE001 - raised where it is awaited
            self._items.put(failure)
