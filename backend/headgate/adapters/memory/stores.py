"""Cycle records, backtests, tokens, cached folds and causes in memory."""

from collections.abc import Callable, Collection, Sequence
from threading import Lock

from msgspec.structs import replace

from headgate.adapters.memory.database import MemoryDatabase
from headgate.application.access.identity import ServiceAccount, Token
from headgate.application.application_services import CauseRecord
from headgate.application.scheduling_cycles import (
    CycleBin,
    CycleQuery,
    CycleRange,
    CycleRecord,
    CycleSums,
    CycleTiming,
)
from headgate.application.simulation_records import (
    SIMULATION_KINDS,
    UNFINISHED,
    ClaimedBacktest,
    SimulationKind,
    SimulationRecord,
)
from headgate.application.snapshot_store import CachedFold, NewFold
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


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

    def sums(self, wanted: CycleRange) -> list[CycleBin]:
        """The sums of each bin that has records, oldest first, and of all; none without records."""
        found = [
            record
            for record in reversed(self._newest_first())
            if wanted.since <= record.at < wanted.until
            and wanted.partition in ("", record.partition)
            and (wanted.up_to is None or record.input_position < wanted.up_to)
        ]
        bins: dict[Instant, list[CycleRecord]] = {}
        for record in found:
            bins.setdefault(record.at - record.at % wanted.step, []).append(record)
        groups: list[tuple[Instant | None, list[CycleRecord]]] = [*bins.items(), (None, found)]
        return [CycleBin(at=at, sums=_sums(records)) for at, records in groups if records]

    def oldest(self) -> Instant | None:
        """When the oldest record that is kept was planned."""
        return min((record.at for record in self._kept.values()), default=None)

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


def _sums(records: Sequence[CycleRecord]) -> CycleSums:
    planning = sorted(record.planning_microseconds for record in records)
    commit = sorted(record.commit_microseconds for record in records)
    both = sorted(record.planning_microseconds + record.commit_microseconds for record in records)
    committed = [record for record in records if record.outcome == "Committed"]
    return CycleSums(
        len(records),
        len(records) - len(committed),
        sum(record.cycles for record in records),
        sum(record.heads for record in records),
        sum(record.decisions for record in committed),
        both[-1],
        *(_rank(each, share) for each in (both, planning, commit) for share in (50, 95)),
    )


def _rank(ascending: Sequence[int], share: int) -> int:
    """The least value that so many hundredths do not exceed (SQL: percentile_disc)."""
    return ascending[-(-len(ascending) * share // 100) - 1]


def _matches(query: CycleQuery, record: CycleRecord) -> bool:
    return (
        (not query.partition or record.partition == query.partition)
        and (query.up_to is None or record.input_position < query.up_to)
        and (query.before is None or (record.at, record.id) < query.before)
        and (query.since is None or record.at >= query.since)
        and (query.until is None or record.at < query.until)
    )


class MemorySimulationStore:
    """Fills the port `SimulationStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, SimulationRecord] = {}
        self._progress: dict[str, bytes | None] = {}
        self._claimed: dict[str, str] = {}
        self._lock = Lock()

    def add(self, job: SimulationRecord) -> None:
        """Keep a new one; one with `finished_at` is over."""
        self._kept[job.id] = job
        self._progress[job.id] = None

    def find(self, job_id: str) -> SimulationRecord | None:
        """The one of that id, if it is kept."""
        return self._kept.get(job_id)

    def page(
        self,
        *,
        before: tuple[Instant, str] | None,
        limit: int,
        kinds: Collection[SimulationKind] = SIMULATION_KINDS,
        author: str = "",
    ) -> list[SimulationRecord]:
        """Those of some kinds and of one author or all, newest first, keyset paged."""
        found = [
            job
            for job in self._newest_first()
            if job.kind in kinds and author in ("", job.created_by)
        ]
        after = [job for job in found if before is None or (job.created_at, job.id) < before]
        return [replace(job, outcome=None) for job in after[:limit]]

    def unfinished(self) -> int:
        """How many are waiting or running."""
        return sum(job.state in UNFINISHED for job in self._kept.values())

    def claim(self, owner: str, *, lease_seconds: int) -> ClaimedBacktest | None:
        """The oldest unfinished job that is not claimed; a claim in memory never expires."""
        del lease_seconds
        with self._lock:
            for job in reversed(self._newest_first()):
                if job.state in UNFINISHED and job.id not in self._claimed:
                    self._claimed[job.id] = owner
                    return ClaimedBacktest(job=job, progress=self._progress[job.id])
        return None

    def save(self, job: SimulationRecord, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read."""
        with self._lock:
            known = self._kept.get(job.id)
            if known is None or known.revision != job.revision:
                return False
            self._kept[job.id] = replace(job, revision=job.revision + 1)
            self._progress[job.id] = progress
            self._claimed.pop(job.id, None)
            return True

    def forget(self, *, keep: int) -> int:
        """Deletes finished ones but the newest so many backtests, and what-ifs of each author."""
        groups: dict[str, list[str]] = {}
        for job in self._newest_first():
            if job.state not in UNFINISHED:
                group = "" if job.kind == "Backtest" else job.created_by
                groups.setdefault(group, []).append(job.id)
        return self._delete([each for ids in groups.values() for each in ids[keep:]])

    def forget_what_ifs(self) -> int:
        """Deletes all that are no backtests; how many went."""
        return self._delete([job.id for job in self._kept.values() if job.kind != "Backtest"])

    def _delete(self, ids: list[str]) -> int:
        for each in ids:
            del self._kept[each], self._progress[each]
        return len(ids)

    def _newest_first(self) -> list[SimulationRecord]:
        return sorted(self._kept.values(), key=lambda one: (one.created_at, one.id), reverse=True)


class MemoryTokens:
    """Fills the port `Tokens`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def all(self) -> list[Token]:
        """Every token, by name."""
        with self._database.lock:
            return [self._with_grants(token) for _, token in sorted(self._database.tokens.items())]

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists."""
        with self._database.lock:
            known, accounts = self._database.tokens.values(), self._database.accounts
            if (token.account not in accounts) if token.account else (token.name in accounts):
                return False
            if any(other.name == token.name or other.digest == token.digest for other in known):
                return False
            self._database.tokens[token.name] = token
            return True

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        with self._database.lock:
            return self._database.tokens.pop(name, None) is not None

    def accounts(self) -> list[ServiceAccount]:
        """Every service account, by name."""
        with self._database.lock:
            return [account for _, account in sorted(self._database.accounts.items())]

    def add_account(self, account: ServiceAccount) -> bool:
        """Keep a service account; False if one, or a token of its own, has that name."""
        with self._database.lock:
            token = self._database.tokens.get(account.name)
            if account.name in self._database.accounts or (token and not token.account):
                return False
            self._database.accounts[account.name] = account
            return True

    def change_account(self, account: ServiceAccount) -> bool:
        """Give a service account other grants and groups; False if there is none."""
        with self._database.lock:
            known = self._database.accounts.get(account.name)
            if known is None:
                return False
            kept = replace(account, created_at=known.created_at)
            self._database.accounts[account.name] = kept
            return True

    def remove_account(self, name: str) -> bool:
        """Forget a service account and its tokens; False if there was none."""
        with self._database.lock:
            tokens = self._database.tokens
            for token in [each for each in tokens.values() if each.account == name]:
                del tokens[token.name]
            return self._database.accounts.pop(name, None) is not None

    def _with_grants(self, token: Token) -> Token:
        account = self._database.accounts.get(token.account) if token.account else None
        if account is None:
            return token
        return replace(token, grants=account.grants, groups=account.groups)


class MemoryStateCache:
    """Fills the port `StateCache`."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], bytes] = {}
        self._parts: dict[str, bytes] = {}

    def newest(
        self, name: str, versions: Sequence[str], *, at_most: int | None = None
    ) -> CachedFold | None:
        """The latest cached fold of any of the versions that is not past `at_most`."""
        found = [
            (position, -versions.index(version), version)
            for known, version, position in self._kept
            if known == name and version in versions and (at_most is None or position <= at_most)
        ]
        if not found:
            return None
        position, _, version = max(found)
        return CachedFold(position, version, self._kept[name, version, position])

    def put(self, name: str, versions: Sequence[str], fold: NewFold) -> bool:
        """Keep a fold of the first of the versions; false if a part is neither given nor there."""
        if any(given is None and known not in self._parts for known, given in fold.parts.items()):
            return False
        self._parts |= {known: given for known, given in fold.parts.items() if given is not None}
        self._kept[name, versions[0], fold.position] = fold.body
        return True

    def forget(self, name: str) -> None:
        """Delete every cached fold of the name."""
        self._kept = {key: body for key, body in self._kept.items() if key[0] != name}

    def part(self, name: str) -> bytes | None:
        """A part of some fold that is kept."""
        return self._parts.get(name)


class MemoryCauseHistory:
    """Fills the port `CauseHistory`; `clock` ends the right to write."""

    def __init__(self, clock: Callable[[], Instant]) -> None:
        self._clock = clock
        self._records: dict[tuple[str, Instant], CauseRecord] = {}
        self._holder = ("", 0)

    def claim(self, holder: str, seconds: int) -> bool:
        """Whether a holder may write for so long from now: as the one before, or after its end."""
        before, until = self._holder
        now = self._clock()
        if before != holder and until > now:
            return False
        self._holder = (holder, now + seconds * MICROSECONDS_PER_SECOND)
        return True

    def open_causes(self) -> list[CauseRecord]:
        """The causes that have not closed, by key."""
        found = [each for each in self._records.values() if each.closed_at is None]
        return sorted(found, key=lambda each: each.key)

    def keep(self, holder: str, records: Sequence[CauseRecord]) -> bool:
        """Keeps records in place of those with their key and opening; False without the right."""
        before, until = self._holder
        if before != holder or until <= self._clock():
            return False
        self._records |= {(each.key, each.opened_at): each for each in records}
        return True

    def closed_causes(self, *, since: Instant, limit: int) -> list[CauseRecord]:
        """The causes that closed at or after an instant, the last closed first."""
        found = [
            (-each.closed_at, each.key, each)
            for each in self._records.values()
            if each.closed_at is not None and each.closed_at >= since
        ]
        return [each for *_, each in sorted(found, key=lambda one: one[:2])][:limit]

    def forget_closed(self, *, before: Instant) -> int:
        """Deletes the causes that closed before an instant; returns how many."""
        old = [
            place
            for place, each in self._records.items()
            if each.closed_at is not None and each.closed_at < before
        ]
        for place in old:
            del self._records[place]
        return len(old)
