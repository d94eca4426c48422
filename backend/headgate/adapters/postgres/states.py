"""States as the read models keep them: JSON, by kind of stream."""

from typing import Any, TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.rounds.state import Round
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.state import Workload

Decoder: TypeAlias = msgspec.json.Decoder[Any]

DECODERS: dict[str, Decoder] = {
    "workload": msgspec.json.Decoder(Workload),
    "round": msgspec.json.Decoder(Round),
    **{
        name: msgspec.json.Decoder(Configured[kind.spec])  # type: ignore[name-defined]
        for name, kind in KINDS_BY_STREAM.items()
    },
}


def state_of(stream: str, written: str | None) -> Any:  # noqa: ANN401 - by kind of stream
    """The state that was written for a stream; `Absent` where there is none."""
    if written is None:
        return Absent()
    kind, _ = kind_and_key(stream)
    return DECODERS[kind].decode(written)
