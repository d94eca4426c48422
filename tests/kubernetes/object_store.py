"""The objects of the double of the API server: with versions and the history that watches get."""

import asyncio
import copy
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

KINDS = {
    "configmaps": ("v1", "ConfigMap"),
    "jobs": ("batch/v1", "Job"),
    "jobsets": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "namespaces": ("v1", "Namespace"),
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "serviceaccounts": ("v1", "ServiceAccount"),
    "selfsubjectaccessreviews": ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    "services": ("v1", "Service"),
}

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Resource, namespace and name."""


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ObjectStore:
    """Objects with versions; every change is an event that watches get."""

    def __init__(self) -> None:
        self.version = 1
        self.compacted = 0
        self.objects: dict[Key, Object] = {}
        self._bytes: dict[Key, bytes] = {}
        self._history: list[tuple[int, str, Key, bytes, dict[str, str]]] = []
        self._waiting: dict[Key | None, list[asyncio.Future[None]]] = defaultdict(list)
        self.listeners: list[Callable[[str, Key, Object], None]] = []

    def find(self, *key: str) -> Object | None:
        return self.objects.get((key[0], key[1], key[2]))

    def create(self, resource: str, namespace: str, body: Object) -> Object:
        made = copy.deepcopy(body)
        made["apiVersion"], made["kind"] = KINDS[resource]
        metadata = made.setdefault("metadata", {})
        if "generateName" in metadata and "name" not in metadata:
            metadata["name"] = f"{metadata['generateName']}{uuid4().hex[:5]}"
        metadata |= {"uid": str(uuid4()), "creationTimestamp": now_text()}
        if namespace:
            metadata["namespace"] = namespace
        return self._record("ADDED", (resource, namespace, metadata["name"]), made)

    def change(self, key: Key, change: Callable[[Object], None]) -> Object:
        made = copy.deepcopy(self.objects[key])
        change(made)
        if made == self.objects[key]:
            return made
        if is_gone(made):
            return self.remove(key, made)
        return self._record("MODIFIED", key, made)

    def remove(self, key: Key, last: Object | None = None) -> Object:
        found = self._record("DELETED", key, last or copy.deepcopy(self.objects[key]))
        del self.objects[key], self._bytes[key]
        return found

    def listed(self, resource: str, selector: str) -> list[bytes]:
        return [
            self._bytes[key]
            for key in sorted(self.objects)
            if key[0] == resource and selects(selector, labels_of(self.objects[key]))
        ]

    def compact(self) -> None:
        """Forgets the history: a watch that has not seen all of it cannot go on."""
        self.version += 1
        self.compacted = self.version
        self._history.clear()
        self.wake(None)

    def since(self, version: int) -> list[tuple[int, str, Key, bytes, dict[str, str]]]:
        """The events after a version."""
        first = bisect_right(self._history, version, key=lambda event: event[0])
        return self._history[first:]

    async def changed(self, key: Key | None) -> None:
        """Waits for a change of an object, or of any."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[key].append(waiting)
        await waiting

    def wake(self, key: Key | None) -> None:
        """Ends the waiting for an object, or of those that wait for any."""
        for waiting in self._waiting.pop(key, []):
            if not waiting.done():
                waiting.set_result(None)

    def _record(self, kind: str, key: Key, made: Object) -> Object:
        self.version += 1
        made["metadata"]["resourceVersion"] = str(self.version)
        content = json.dumps(made, separators=(",", ":")).encode()
        self.objects[key], self._bytes[key] = made, content
        self._history.append((self.version, kind, key, content, labels_of(made)))
        for listener in self.listeners:
            listener(kind, key, made)
        self.wake(key)
        self.wake(None)
        return made


def labels_of(found: Object) -> dict[str, str]:
    labels: dict[str, str] = found["metadata"].get("labels") or {}
    return labels


def selects(selector: str, labels: dict[str, str]) -> bool:
    for part in filter(None, selector.split(",")):
        key, equals, value = part.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    return True


def merge(found: Object, patch: Object) -> None:
    """A merge patch (RFC 7386)."""
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(found.get(key), dict):
                found[key] = {}
            merge(found[key], value)
        else:
            found[key] = value


def is_gone(found: Object) -> bool:
    metadata = found["metadata"]
    return metadata.get("deletionGracePeriodSeconds") == 0 and not metadata.get("finalizers")
