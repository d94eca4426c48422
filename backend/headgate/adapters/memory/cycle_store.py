"""Records of cycles in memory."""

from headgate.application.cycles.cycle_records import CycleQuery, CycleRecord, CycleTiming
from headgate.domain.values.instants import Instant


class MemoryCycleStore:
    """Fills the port `CycleBook`."""

    def __init__(self) -> None:
        self._kept: dict[str, CycleRecord] = {}

    def put(self, record: CycleRecord) -> None:
        """Keep a record."""
        self._kept[record.id] = record

    def find(self, cycle_id: str) -> CycleRecord | None:
        """The record of that id, if it is kept."""
        return self._kept.get(cycle_id)

    def page(self, query: CycleQuery) -> list[CycleRecord]:
        """Records that match, newest first, keyset paged."""
        found = [record for record in self._newest_first() if _matches(query, record)]
        return found[: query.limit]

    def timings(self, since: Instant, *, limit: int) -> list[CycleTiming]:
        """How long those took that were planned at `since` or later, oldest first."""
        found = [_timing(record) for record in reversed(self._newest_first()) if record.at >= since]
        return found[:limit]

    def forget(self, *, keep: int) -> int:
        """Delete all but the newest so many; how many went."""
        old = self._newest_first()[keep:]
        for record in old:
            del self._kept[record.id]
        return len(old)

    def _newest_first(self) -> list[CycleRecord]:
        return sorted(self._kept.values(), key=lambda one: (one.at, one.id), reverse=True)


def _timing(record: CycleRecord) -> CycleTiming:
    fields = CycleTiming.__struct_fields__
    return CycleTiming(**{name: getattr(record, name) for name in fields})


def _matches(query: CycleQuery, record: CycleRecord) -> bool:
    return (
        (not query.partition or record.partition == query.partition)
        and (query.up_to is None or record.input_position < query.up_to)
        and (query.before is None or (record.at, record.id) < query.before)
    )
