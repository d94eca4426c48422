"""The chain value of an event covers what it is and all that came before it."""

import pytest
from msgspec.structs import replace

from headgate.event_log.chain import StoredEvent, chain_after, first_chain

EVENT = StoredEvent(
    position=7,
    stream="workload/a/1",
    version=2,
    type="workload.admitted",
    schema_version=1,
    body=b'{"waited_seconds":3}',
)
START = first_chain("00000000-0000-0000-0000-000000000001")


def test_its_definition_stays() -> None:
    """Stored values were computed by it."""
    assert chain_after(START, EVENT).hex() == (
        "994ce8402492b3770f35dc2898e31b7b2a4f0e6464e9f7148fd0ca9a2898e921"
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(EVENT, position=8),
        replace(EVENT, stream="workload/a/2"),
        replace(EVENT, version=3),
        replace(EVENT, type="workload.requeued"),
        replace(EVENT, schema_version=2),
        replace(EVENT, body=b'{"waited_seconds":4}'),
        replace(EVENT, stream="workload/a/1workload", type=".admitted"),
    ],
)
def test_it_covers_every_part_of_the_event(other: StoredEvent) -> None:
    assert chain_after(START, other) != chain_after(START, EVENT)


def test_it_covers_the_past() -> None:
    assert chain_after(first_chain("another log"), EVENT) != chain_after(START, EVENT)
