"""Objects as their authors wrote them: what is kept of one, and how it is shown again.

Kept is everything but what the server owns: quantities, the order of keys and allowed fields that
nothing reads stay as they were. Name, namespace, labels and annotations are in the event to the
letter, and so are not repeated: objects that differ in nothing else are kept once.
"""

from typing import Any

import msgspec

SERVER_OWNED = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of `metadata` that are shown as the server knows them, whatever was written."""


def written_body(manifest: dict[str, Any]) -> bytes:
    """What is kept of a manifest: canonical JSON, the keys in the order they were written in."""
    metadata = {
        name: value
        for name, value in (manifest.get("metadata") or {}).items()
        if name not in SERVER_OWNED
    }
    kept = {
        name: metadata if name == "metadata" else value
        for name, value in manifest.items()
        if name != "status"
    }
    return msgspec.json.encode(kept)


def as_written(
    written: dict[str, Any], read: dict[str, Any], rendered: dict[str, Any]
) -> dict[str, Any]:
    """The object as written, with the server's metadata and status.

    `read` is what was written as the server reads it, `rendered` the object as it stands, both with
    every default. Where the two differ the object has changed since it was written (a queue was
    stopped, a node has reported), and the present value is shown.
    """
    shown: dict[str, Any] = {}
    for name, value in written.items():
        if name == "metadata":
            shown[name] = {**rendered["metadata"], **value}
        elif name in _HEAD:
            shown[name] = value
        else:
            shown[name] = _with_changes(value, read.get(name), rendered.get(name))
    shown |= {
        name: value
        for name, value in rendered.items()
        if name not in {*written, "status"} and value != read.get(name)
    }
    if "status" in rendered:
        shown["status"] = rendered["status"]
    return {name: value for name, value in shown.items() if value is not _GONE}


_HEAD = ("apiVersion", "kind", "metadata")
_GONE = object()


def _with_changes(written: Any, read: Any, present: Any) -> Any:
    """What was written, with the present value of every field that has changed since."""
    if read == present:
        return written
    if present is None:
        return _GONE
    if not (isinstance(written, dict) and isinstance(read, dict) and isinstance(present, dict)):
        return present
    shown = {
        name: _with_changes(value, read.get(name), present.get(name))
        for name, value in written.items()
    }
    shown |= {
        name: value
        for name, value in present.items()
        if name not in written and value != read.get(name)
    }
    return {name: value for name, value in shown.items() if value is not _GONE}
