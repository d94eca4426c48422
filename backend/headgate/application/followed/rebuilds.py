"""Rebuilding read models in the background, one at a time for each."""

import asyncio

import structlog

from headgate.application.ports import Followers

LOG = structlog.get_logger()


class Rebuilds:
    """Runs rebuilds; asking again for one that runs changes nothing."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str) -> None:
        """Begin to rebuild a read model, unless it is being rebuilt."""
        if name not in self._running:
            task = asyncio.create_task(asyncio.to_thread(self._followers.rebuild, name))
            self._running[name] = task
            task.add_done_callback(lambda ended: self._ended(name, ended))

    def running(self) -> tuple[str, ...]:
        """The read models that are being rebuilt."""
        return tuple(sorted(self._running))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        del self._running[name]
        if not task.cancelled() and (failure := task.exception()) is not None:
            LOG.error("rebuilding failed", read_model=name, exc_info=failure)
