"""Collections of a Kubernetes API server, listed and then watched, and kept in stores.

After every interruption a store has each object of the server once: a watch goes on from the last
version it has seen, and one that the server no longer has (410 Gone) begins with a list.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds
from headgate.executor.substrates.kubernetes.api_server import (
    GONE,
    NOT_FOUND,
    SECONDS_TO_ANSWER,
    ApiServer,
    Refused,
    ServerAway,
    Status,
)

WATCH_SECONDS = 240
"""After this the server ends a watch, which then goes on: a connection that died is noticed."""
PAGE = 500
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.2, 30.0
ABSENT_SECONDS = 300.0
"""How long a collection that the server lacks is not asked for again."""

Kept = TypeVar("Kept")


class ListMetadata(msgspec.Struct, rename="camel"):
    """What a list says of itself."""

    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct):
    metadata: ListMetadata


class Store(Generic[Kept]):
    """The objects of a collection by `namespace/name`, and which of them have changed.

    `convert` returns what is kept of an object, with its key and version. Any thread may read.
    """

    def __init__(
        self, convert: Callable[[bytes], tuple[str, str, Kept]], on_change: Callable[[], None]
    ) -> None:
        self._convert = convert
        self._on_change = on_change
        self._lock = threading.Lock()
        self._objects: dict[str, Kept] = {}
        self._versions: dict[str, int] = {}
        self._changed: set[str] = set()
        self._version = 0
        self.is_complete = threading.Event()

    def find(self, key: str) -> Kept | None:
        """Returns an object."""
        with self._lock:
            return self._objects.get(key)

    def all(self) -> list[Kept]:
        """Returns all objects in no particular order."""
        with self._lock:
            return list(self._objects.values())

    def keys(self) -> set[str]:
        """Returns the keys of all objects."""
        with self._lock:
            return set(self._objects)

    def take_changes(self) -> dict[str, Kept | None]:
        """Returns what has changed since the last call; None for what is gone."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return {key: self._objects.get(key) for key in sorted(changed)}

    def put(self, content: bytes) -> None:
        """Takes over an object that a request returned, unless the watch is past that version."""
        key, version, kept = self._convert(content)
        with self._lock:
            if _number(version) > max(self._version, self._versions.get(key, 0)):
                self._set(key, version, kept)
        self._on_change()

    def replace(self, items: list[msgspec.Raw], version: str) -> None:
        """Takes over a whole list; objects that were created after it stay."""
        found = [self._convert(bytes(each)) for each in items]
        with self._lock:
            listed = {key for key, _, _ in found}
            for key in [each for each in self._objects if each not in listed]:
                if self._versions[key] <= _number(version):
                    self._remove(key)
            for key, each, kept in found:
                if self._versions.get(key) != _number(each):
                    self._set(key, each, kept)
            self._version = _number(version)
        self.is_complete.set()
        self._on_change()

    def apply(self, kind: str, content: bytes) -> str:
        """Takes over an event of the watch, and returns the version that it stands for."""
        key, version, kept = self._convert(content)
        with self._lock:
            if kind == "DELETED":
                self._remove(key)
            elif _number(version) >= self._versions.get(key, 0):
                self._set(key, version, kept)
            self._version = max(self._version, _number(version))
        self._on_change()
        return version

    def _set(self, key: str, version: str, kept: Kept) -> None:
        self._objects[key], self._versions[key] = kept, _number(version)
        self._changed.add(key)

    def _remove(self, key: str) -> None:
        if self._objects.pop(key, None) is not None:
            del self._versions[key]
            self._changed.add(key)


def _number(version: str) -> int:
    """Versions are decimal numbers that grow (Kubernetes 1.35: comparable resource versions)."""
    return int(version) if version.isdecimal() else 0


class Collection(Generic[Kept]):
    """Keeps a store equal to a collection of the server: lists it, and watches from there.

    `is_optional` is a collection that the server may lack, as that of an operator that is not
    installed.
    """

    def __init__(
        self,
        server: ApiServer,
        path: str,
        store: Store[Kept],
        *,
        selector: str = "",
        is_optional: bool = False,
    ) -> None:
        self._server, self._path, self.store = server, path, store
        self._params = {"labelSelector": selector} if selector else {}
        self._is_optional = is_optional
        self._version = ""
        self.failure = ""

    async def follow(self) -> None:
        """Follows the collection until it is cancelled."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            before, began = self._version, elapsed_seconds()
            try:
                if not self._version:
                    await self._list()
                self.failure = ""
                await self._watch()
            except ServerAway as failure:
                self.failure = str(failure)
            except Refused as refusal:
                self._note_refusal(refusal)
                if refusal.status == GONE and before:
                    continue
                if refusal.status == NOT_FOUND and self._is_optional:
                    await asyncio.sleep(ABSENT_SECONDS)
                    continue
            ended_late = elapsed_seconds() - began >= MAX_PAUSE_SECONDS
            if self._version != before or ended_late:
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(max(pause, self._server.retry_at - elapsed_seconds()))
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    def _note_refusal(self, refusal: Refused) -> None:
        """Begins anew after 410; what an optional collection lacks is asked for again later."""
        if refusal.status == GONE:
            self._version = ""
        elif refusal.status == NOT_FOUND and self._is_optional:
            self.store.is_complete.set()
        else:
            self.failure = refusal.message

    async def _list(self) -> None:
        items: list[msgspec.Raw] = []
        following = ""
        while True:
            params = {**self._params, "limit": str(PAGE)}
            if following:
                params["continue"] = following
            page = msgspec.json.decode(await self._server.get(self._path, params), type=_Page)
            items += page.items or []
            following = page.metadata.next_page
            if not following:
                self._version = page.metadata.resource_version
                self.store.replace(items, self._version)
                return

    async def _watch(self) -> None:
        """Takes over events until the watch ends or breaks."""
        params = {
            **self._params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        rest = b""
        async with self._server.stream(
            self._path, params, silence_seconds=WATCH_SECONDS + SECONDS_TO_ANSWER
        ) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        event = msgspec.json.decode(line, type=_WatchEvent)
        match event.type:
            case "BOOKMARK":
                found = msgspec.json.decode(event.object, type=_Bookmark)
                self._version = found.metadata.resource_version
            case "ERROR":
                status = msgspec.json.decode(event.object, type=Status)
                raise Refused(status.code, status.reason, status.message)
            case kind:
                self._version = self.store.apply(kind, bytes(event.object))
