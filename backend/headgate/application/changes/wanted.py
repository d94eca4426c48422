"""An object as a caller wants it, read from whatever it was written in."""

from typing import Any

import msgspec

from headgate.domain.streams import stream_of


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is as in streams; `keeps` names fields of the spec that were left out.

    `position` is the log position of the version the caller has seen, where it says so.
    `states_priority` matters to workloads alone: their priority was given as a number.
    """

    kind: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Any
    keeps: tuple[str, ...] = ()
    states_priority: bool = False
    position: int | None = None

    @property
    def stream(self) -> str:
        """The stream of the object."""
        return stream_of(self.kind, self.name, self.namespace)
