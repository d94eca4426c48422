"""Backtests in memory."""

from threading import Lock

from msgspec.structs import replace

from headgate.application.backtests.jobs import UNFINISHED, Backtest, ClaimedBacktest
from headgate.domain.values.instants import Instant


class MemoryBacktestStore:
    """Fills the port `BacktestBook`."""

    def __init__(self) -> None:
        self._kept: dict[str, Backtest] = {}
        self._progress: dict[str, bytes | None] = {}
        self._claimed: dict[str, str] = {}
        self._lock = Lock()

    def add(self, job: Backtest) -> None:
        """Keep a new job."""
        self._kept[job.id] = job
        self._progress[job.id] = None

    def find(self, job_id: str) -> Backtest | None:
        """The job of that id, if it is kept."""
        return self._kept.get(job_id)

    def page(self, *, before: tuple[Instant, str] | None, limit: int) -> list[Backtest]:
        """Jobs without their outcome, newest first, keyset paged."""
        found = self._newest_first()
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

    def save(self, job: Backtest, progress: bytes | None) -> bool:
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
        """Delete all finished jobs but the newest so many; how many went."""
        old = [job for job in self._newest_first() if job.state not in UNFINISHED][keep:]
        for job in old:
            del self._kept[job.id], self._progress[job.id]
        return len(old)

    def _newest_first(self) -> list[Backtest]:
        return sorted(self._kept.values(), key=lambda one: (one.created_at, one.id), reverse=True)
