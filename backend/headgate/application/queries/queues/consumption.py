"""What a LocalQueue has used of late, for people (admission fair sharing)."""

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.scheduling.ordering.consumption import ONE, with_penalties
from headgate.domain.values.instants import Instant

NANO = 10**9
MILLI = 1000


class Consumed(msgspec.Struct, frozen=True):
    """Billionths of base units (cores, bytes, devices) by resource, as they were `at` an instant.

    `about_to_count` are the entry penalties of workloads with reserved quota.
    """

    at: Instant
    nanos: dict[str, int]
    about_to_count: dict[str, int]


def consumed_by(cell: Cell, local_queue: str, at: Instant) -> Consumed | None:
    """Of a LocalQueue (`namespace/name`); None while admission fair sharing is switched off."""
    if cell.usage_history.rules is None:
        return None
    found = cell.usage_history.at(local_queue, at)
    total = with_penalties(found)
    pending = {name: total[name] - found.consumed.get(name, 0) for name in sorted(total)}
    return Consumed(found.at, _nanos(found.consumed), _nanos(pending))


def _nanos(amounts: dict[str, int]) -> dict[str, int]:
    """Rounded to the nearest; what rounds to nothing is left out."""
    found = {
        name: (amount * (NANO // MILLI if name == "cpu" else NANO) + ONE // 2) // ONE
        for name, amount in sorted(amounts.items())
    }
    return {name: nanos for name, nanos in found.items() if nanos}
