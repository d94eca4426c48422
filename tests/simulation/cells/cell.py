"""A cell: it decides by its own log and clock alone, and sends until an answer is written.

What it sends follows from its state, so that a restart sends it again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from tests.simulation.cells import leases, moves
from tests.simulation.cells import messages as m
from tests.simulation.cells.executor import Executor
from tests.simulation.cells.network import Network
from tests.simulation.cells.state import (
    CellState,
    Changed,
    Entry,
    Job,
    LeaseGranted,
    LeaseTaken,
    Left,
    Record,
    Submitted,
)

RETRY = 10_000
"""What has no answer is sent again after so long."""
DIRECTORY = "directory"


class Log(Protocol):
    """The log of a cell, and what it admits by it."""

    def append(self, records: Sequence[Record], now: int) -> None:
        """Writes all of them or none."""

    def records(self) -> Sequence[Record]:
        """Everything written, in order."""

    def admitted(self, state: CellState, quota: int, now: int) -> list[str]:
        """The pending workloads that start now, as far as the quota goes."""


class Cell:
    """One installation; `watch` is called with what it has written."""

    def __init__(
        self,
        name: str,
        nominal: int,
        *,
        others: Sequence[str],
        network: Network,
        log: Log,
    ) -> None:
        self.name = name
        self.nominal = nominal
        self.others = others
        self.network = network
        self.log = log
        self.watch: Callable[[Cell, Sequence[Record]], object] = lambda *_: None
        self.executor = Executor(name, network)
        self.restart()

    def restart(self) -> None:
        """Folds the log; what was only in memory is gone."""
        self.state = CellState()
        self.state.apply_all(self.log.records())
        self._sent: dict[object, int] = {}
        self._confirmed: set[tuple[str, int]] = set()
        self._lender = 0

    @property
    def now(self) -> int:
        """What the clock of this cell shows."""
        return self.network.clock(self.name)

    @property
    def usage(self) -> int:
        """What admitted workloads use, evicted ones until they have stopped."""
        return sum(self.state.running.values())

    @property
    def quota(self) -> int:
        """The quota in effect: by the log, and for taken leases by the clock."""
        borrowed = leases.borrowed_amount(self.state.taken.values(), self.now)
        return self.nominal - leases.lent_amount(self.state.lent.values()) + borrowed

    def commit(self, records: Sequence[Record]) -> None:
        """Writes records; the process may be gone before and after."""
        if not records:
            return
        self.network.maybe_crash(self.name)
        self.log.append(records, self.now)
        self.state.apply_all(records)
        self.watch(self, records)
        self.network.maybe_crash(self.name)

    def send(self, receiver: str, message: object) -> None:
        """Sends a message."""
        self.network.send(self.name, receiver, message)

    def handle(self, message: object) -> None:
        """Takes a message, then does what is due."""
        match message:
            case m.Submit():
                self._submit(message)
            case m.Ask():
                self._lend(message)
            case m.Grant(lender=lender, lease=lease):
                self._take(lender, lease)
            case m.Return(borrower=borrower, number=number):
                self._take_back(borrower, number)
            case m.Over(lender=lender, number=number):
                self._close(lender, number)
            case m.Entries(after=after, entries=entries):
                if not self._follow(after, entries):
                    return
            case moves.Export():
                self.commit(moves.imported(self.state, message))
            case m.Transfer(source=source, job=job):
                self.commit(moves.arrived(self.state, job))
                self.send(source, m.Has(job.uid, job.moves))
            case m.Has(uid=uid, moves=count):
                if uid in self.state.leaving and self.state.leaving[uid][1].moves == count:
                    self.commit([Left(uid)])
            case m.FetchTable(router=router):
                self.send(router, m.TableIs(dict(self.state.table.cells)))
            case _:
                raise AssertionError(message)
        self.step()

    def step(self) -> None:
        """Does what is due: ends leases, evicts, admits, and sends what has no answer."""
        self._report()
        self._end_leases()
        self._send_evicted_on()
        self._evict()
        self._return_unused()
        self._admit()
        self._order_pods()
        self._send_again()
        self._plan_wake()

    def evict(self, uid: str) -> None:
        """A user evicts a workload."""
        if uid in self.state.running and self.state.jobs[uid].phase == "running":
            self.commit([Changed(uid, "evicting")])
            self.step()

    def _submit(self, submit: m.Submit) -> None:
        moved = moves.redirection(self.state, submit.queue)
        here = self.state.queues.get(submit.queue)
        if moved is not None:
            self.send(submit.router, m.Redirected(submit, *moved))
        elif here is None or here.phase == "imported":
            self.send(submit.router, m.Refused(submit.key, is_moving=here is not None))
        elif submit.key in self.state.keys:
            self.send(submit.router, m.Answer(submit.key, self.state.keys[submit.key][1]))
        elif here.phase == "stopping":
            self.send(submit.router, m.Refused(submit.key, is_moving=True))
        else:
            uid = f"{self.name}:{len(self.state.keys)}"
            job = Job(uid, submit.queue, submit.amount, submit.seconds)
            self.commit([Submitted(job, submit.key)])
            self.send(submit.router, m.Answer(submit.key, uid))

    def _lend(self, ask: m.Ask) -> None:
        known = self.state.lent.get(ask.borrower)
        lent = leases.lent_amount(self.state.lent.values())
        free = self.nominal - lent - self.usage - self._pending()
        is_new = known is None or ask.number > known.number
        if known is not None and known.number == ask.number and not known.is_over:
            if self._pending():
                self.send(ask.borrower, m.Grant(self.name, known))
                return
        elif is_new and free <= 0:
            return
        lease = leases.granted(known, ask.number, min(ask.amount, free), self.now)
        if lease is not None:
            self.commit([LeaseGranted(ask.borrower, lease)])
            self.send(ask.borrower, m.Grant(self.name, lease))
        elif known is not None and known.is_over:
            self.send(ask.borrower, m.Over(self.name, known.number))

    def _take(self, lender: str, lease: leases.Lent) -> None:
        known = self.state.taken.get(lender)
        taken = leases.taken(known, lease.number, lease.amount, lease.until)
        if taken is not None:
            self.commit([LeaseTaken(lender, taken)])

    def _take_back(self, borrower: str, number: int) -> None:
        known = self.state.lent.get(borrower)
        if known is not None and known.number == number and not known.is_over:
            self.commit([LeaseGranted(borrower, replace(known, is_over=True))])
        self.send(borrower, m.Over(self.name, number))

    def _close(self, lender: str, number: int) -> None:
        known = self.state.taken.get(lender)
        self._confirmed.add((lender, number))
        if known is None or known.number < number:
            self.commit([LeaseTaken(lender, leases.Taken(number, 0, 0, is_returned=True))])
        elif known.number == number and not known.is_returned:
            self.commit([LeaseTaken(lender, replace(known, is_returned=True))])

    def _follow(self, after: int, entries: Sequence[Entry]) -> bool:
        """Copies entries; whether any was new, as others are no reason to decide anything."""
        before = self.state.table.position
        for number, entry in enumerate(entries):
            if after + number == self.state.table.position:
                self.commit(moves.followed(self.state, self.name, entry))
        self.send(DIRECTORY, m.FollowedTo(self.name, self.state.table.position))
        return self.state.table.position > before

    def _report(self) -> None:
        """Writes what became of pods."""
        for (uid, attempt), is_finished in list(self.executor.journal.items()):
            job = self.state.jobs.get(uid)
            if job is not None and job.attempt == attempt and uid in self.state.running:
                self.commit([Changed(uid, "finished" if is_finished else "pending")])
            del self.executor.journal[uid, attempt]

    def _end_leases(self) -> None:
        for borrower, lent in list(self.state.lent.items()):
            if leases.is_expired(lent, self.now):
                self.commit([LeaseGranted(borrower, replace(lent, is_over=True))])

    def _send_evicted_on(self) -> None:
        for uid, job in list(self.state.jobs.items()):
            if job.phase == "pending" and moves.redirection(self.state, job.queue) is not None:
                self.commit([Changed(uid, "exported")])

    def stop_times(self) -> dict[str, int]:
        """When executors stop running workloads by themselves."""
        own = self.nominal - leases.lent_amount(self.state.lent.values())
        return leases.stop_times(self.state.running.items(), own, self.state.taken.values())

    def _evict(self) -> None:
        for uid, stop_by in self.stop_times().items():
            if self.state.jobs[uid].phase == "running" and self.now >= leases.in_effect_until(
                stop_by
            ):
                self.commit([Changed(uid, "evicting")])

    def _return_unused(self) -> None:
        if self._pending():
            return
        for lender, lease in list(self.state.taken.items()):
            if not leases.is_in_effect(lease, self.now) or self.usage > self.quota - lease.amount:
                continue
            own = self.nominal - leases.lent_amount(self.state.lent.values())
            if leases.may_return(self.state.running.items(), own, self.state.taken, lender):
                self.commit([LeaseTaken(lender, replace(lease, is_returned=True))])

    def _admit(self) -> None:
        for uid in self.log.admitted(self.state, self.quota, self.now):
            self.commit([Changed(uid, "running")])

    def _order_pods(self) -> None:
        for uid, stop_by in self.stop_times().items():
            job = self.state.jobs[uid]
            self.executor.run(uid, job.attempt, job.amount, job.seconds, stop_by)
            if job.phase == "evicting":
                self.executor.evict(uid)

    def _pending(self) -> int:
        """What pending workloads of this cell ask for."""
        return sum(
            job.amount
            for job in self.state.jobs.values()
            if job.phase == "pending" and moves.is_schedulable(self.state, job.queue)
        )

    def _send_again(self) -> None:
        state = self.state
        for queue, here in state.queues.items():
            if here.phase == "stopping":
                self._repeat(
                    here.to, moves.Export, queue, lambda q: moves.export(state, self.name, q)
                )
            elif here.phase == "imported":
                self._repeat(DIRECTORY, m.Ready, queue, lambda q: m.Ready(q, state.queues[q].move))
        for uid, (target, _) in state.leaving.items():
            self._repeat(
                target, m.Transfer, uid, lambda u: m.Transfer(self.name, state.leaving[u][1])
            )
        for lender, lease in state.taken.items():
            if lease.is_returned and self.now <= leases.counted_until(lease.until):
                self._repeat(
                    lender, m.Return, lender, lambda of: m.Return(self.name, state.taken[of].number)
                )
        self._renew()
        self._borrow()

    def _renew(self) -> None:
        pending = self._pending()
        for lender, lease in self.state.taken.items():
            lowered_at = leases.in_effect_until(lease.until)
            is_near = lowered_at - leases.RENEW_BEFORE <= self.now < lowered_at
            is_needed = pending or self.usage > self.quota - lease.amount
            if is_near and is_needed and not lease.is_returned:
                self._repeat(lender, m.Ask, lender, self._renewal)

    def _renewal(self, lender: str) -> m.Ask:
        lease = self.state.taken[lender]
        return m.Ask(self.name, lease.number, lease.amount)

    def _borrow(self) -> None:
        """Asks one cell after another while pending workloads exceed the quota."""
        short = self._pending() - (self.quota - self.usage)
        if short <= 0 or not self.others or self.now < self._sent.get(m.Ask, 0) + RETRY:
            return
        for _ in self.others:
            self._lender = (self._lender + 1) % len(self.others)
            lender = self.others[self._lender]
            known = self.state.taken.get(lender)
            if known is None or known.is_returned or self.now >= known.until:
                number = known.number + 1 if known else 1
                self._sent[m.Ask] = self.now
                self.send(lender, m.Ask(self.name, number, short))
                return

    def _repeat(self, to: str, kind: type, key: str, make: Callable[[str], Any]) -> None:
        if self.now >= self._sent.get((kind, key), -RETRY) + RETRY:
            self._sent[kind, key] = self.now
            self.send(to, make(key))

    def _plan_wake(self) -> None:
        ends = [leases.next_end(self.state.lent, self.state.taken, self.now)]
        ends += [
            leases.in_effect_until(stop_by)
            for stop_by in self.stop_times().values()
            if leases.in_effect_until(stop_by) > self.now
        ]
        if self._has_open_questions():
            ends.append(self.now + RETRY)
        next_at = min(ends)
        if next_at < leases.in_effect_until(leases.FOREVER):
            self.network.wake(self.name, self.network.now + next_at - self.now)

    def _has_open_questions(self) -> bool:
        """Whether something is to be sent again."""
        moving = any(h.phase in {"stopping", "imported"} for h in self.state.queues.values())
        borrowed = any(leases.is_in_effect(t, self.now) for t in self.state.taken.values())
        return bool(
            moving or self._unconfirmed() or borrowed or self.state.leaving or self._pending()
        )

    def _unconfirmed(self) -> list[tuple[str, int]]:
        """Returned leases that their lender may still count as lent."""
        return [
            (lender, lease.number)
            for lender, lease in self.state.taken.items()
            if lease.is_returned
            and self.now <= leases.counted_until(lease.until)
            and (lender, lease.number) not in self._confirmed
        ]
