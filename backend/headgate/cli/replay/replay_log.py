"""The history of each workload of a replay, folded from its events."""

import msgspec

from headgate.cli.executor.runs import EVENT_TYPES
from headgate.cli.presentation.units import instant_of
from headgate.cli.replay.arrivals import Arrival
from headgate.client.schemas import Event
from headgate.domain.values.instants import Instant


class WorkloadRecord(msgspec.Struct, kw_only=True):
    """The history of one workload in the replay; instants are the server's."""

    arrival: Arrival
    submitted_at: Instant | None = None
    admitted_at: Instant | None = None
    finished_at: Instant | None = None
    is_decided: bool = False
    has_quota: bool = False
    admissions: int = 0
    problem: str = ""


class UsageChange(msgspec.Struct, frozen=True):
    """The usage of each resource from an instant on."""

    at: Instant
    amounts: dict[str, int]


class ReplayLog:
    """Folds events into records of workloads, counts and usage."""

    def __init__(self, arrivals: list[Arrival]) -> None:
        self.records = {arrival.key: WorkloadRecord(arrival=arrival) for arrival in arrivals}
        self.evictions: dict[str, int] = {}
        self.usages: list[UsageChange] = []
        self.finished = 0
        self.admissions = 0
        self.last_at: Instant = 0
        self._used: dict[str, int] = {}
        self._undecided: set[str] = set()
        self._position = 0

    @property
    def undecided(self) -> int:
        """The number of submitted workloads without an admission or a pending reason."""
        return len(self._undecided)

    def sent(self, key: str) -> None:
        """Records that the workload is being submitted."""
        self._undecided.add(key)

    def refused(self, key: str, problem: str) -> None:
        """Records that the server rejected the workload."""
        self.records[key].problem = problem
        self._decide(key)

    def mark_all_decided(self) -> None:
        """Counts every submitted workload as decided, where no event follows for some time."""
        for key in list(self._undecided):
            self._decide(key)

    def observe(self, event: Event) -> None:
        """Applies one event; repeated events and those of other workloads change nothing."""
        record = self.records.get(event.name)
        if event.position <= self._position or record is None:
            return
        self._position = event.position
        self.last_at = instant_of(event.at)
        self._fold(record, event, self.last_at)

    def _fold(self, record: WorkloadRecord, event: Event, at: Instant) -> None:
        match event.type:
            case "workload.submitted":
                record.submitted_at = at
            case "workload.explained":
                self._decide(record.arrival.key)
            case "workload.quota_reserved":
                self._take(record, at)
            case "workload.admitted":
                record.admissions += 1
                self.admissions += 1
                record.admitted_at = record.admitted_at or at
                self._decide(record.arrival.key)
            case "workload.evicted":
                reason = str(event.data.get("reason", ""))
                self.evictions[reason] = self.evictions.get(reason, 0) + 1
            case "workload.stopped" | "workload.reservation_dropped":
                self._give(record, at)
            case "workload.finished":
                self._give(record, at)
                if record.finished_at is None:
                    self.finished += 1
                record.finished_at = at
                self._decide(record.arrival.key)
            case _:
                pass

    def _decide(self, key: str) -> None:
        self._undecided.discard(key)
        self.records[key].is_decided = True

    def _take(self, record: WorkloadRecord, at: Instant) -> None:
        if not record.has_quota:
            record.has_quota = True
            self._change(record, at, 1)

    def _give(self, record: WorkloadRecord, at: Instant) -> None:
        if record.has_quota:
            record.has_quota = False
            self._change(record, at, -1)

    def _change(self, record: WorkloadRecord, at: Instant, sign: int) -> None:
        for name, amount in record.arrival.requests.items():
            self._used[name] = self._used.get(name, 0) + sign * amount
        self.usages.append(UsageChange(at, dict(self._used)))


REPLAY_EVENT_TYPES = tuple(
    dict.fromkeys(
        (
            *EVENT_TYPES,
            "workload.explained",
            "workload.quota_reserved",
            "workload.pods_gone",
            "workload.hosts_failed",
            "workload.hosts_recovered",
            "workload.scaled_down",
        )
    )
)
"""The event types that the replay log, the simulated runs and the outage results need."""
