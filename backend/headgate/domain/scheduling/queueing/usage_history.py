"""What every LocalQueue has used of late, folded from the log (admission fair sharing, ADR 0012).

Part of the fold: it is kept in the state cache with the pending penalties, and is the same after a
restart. Nothing is kept while admission fair sharing is off; switching it on starts from nothing.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.ordering.consumption import (
    Consumption,
    decayed,
    entry_penalty,
    summed,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import Requests, added
from headgate.domain.workloads.pods.trimmed_assignments import needed_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, is_admitted

UsageUndo = dict[str, Consumption | None]
"""Queues that changed, with what was known of them before."""


class UsageHistory:
    """Consumption by LocalQueue (`namespace/name`); `rules` is None while it is switched off.

    A queue that is deleted and created again keeps its history: deleting washes nothing away.
    """

    def __init__(self) -> None:
        self.rules: AdmissionFairSharing | None = None
        self.queues: dict[str, Consumption] = {}

    def configure(
        self, rules: AdmissionFairSharing | None, workloads: Iterable[Workload], at: Instant
    ) -> UsageUndo:
        """Go on by other rules: what faded until now faded by the old ones; to be undone."""
        old_rules, self.rules = self.rules, rules
        before = self.queues
        if rules is None or old_rules is None:
            self.queues = {}
        else:
            self.queues = {key: decayed(found, at, old_rules) for key, found in before.items()}
        if rules is not None and old_rules is None:
            for workload in workloads:
                self.replace(None, workload, at)
        return {key: before.get(key) for key in sorted({*before, *self.queues})}

    def replace(self, old: Workload | None, new: Workload | None, at: Instant) -> UsageUndo:
        """A workload came, changed or went; what was known before, to undo it."""
        if self.rules is None or not _matters(old, new):
            return {}
        changed = {_queue_of(workload) for workload in (old, new) if workload is not None}
        before: UsageUndo = {key: self.queues.get(key) for key in sorted(changed)}
        if old is not None:
            self._change(_queue_of(old), at, _negated(_used(old)))
        if new is not None:
            self._change(_queue_of(new), at, _used(new))
        self._penalize(old, new)
        return before

    def restore(self, before: UsageUndo) -> None:
        """Undo a `replace`, the latest first."""
        for key, found in before.items():
            if found is None:
                self.queues.pop(key, None)
            else:
                self.queues[key] = found

    def at(self, local_queue: str, at: Instant) -> Consumption:
        """What a LocalQueue has used at an instant not before the last change."""
        found = self.queues.get(local_queue)
        if self.rules is None or found is None:
            return Consumption(at=at)
        return decayed(found, at, self.rules)

    def copied(self) -> "UsageHistory":
        """Another one that knows the same."""
        history = UsageHistory()
        history.rules = self.rules
        history.queues = dict(self.queues)
        return history

    def dump(self) -> bytes:
        """Everything known, as text, in which a number may be as large as it needs."""
        return msgspec.json.encode(self.queues)

    @classmethod
    def load(cls, rules: AdmissionFairSharing | None, body: bytes) -> "UsageHistory":
        """The history that `dump` wrote down."""
        history = cls()
        history.rules = rules
        history.queues = msgspec.json.decode(body, type=dict[str, Consumption])
        return history

    def _change(self, key: str, at: Instant, usage: Requests) -> None:
        found = self.at(key, at)
        left = {name: amount for name, amount in added(found.usage, usage).items() if amount}
        self.queues[key] = replace(found, usage=left)

    def _penalize(self, old: Workload | None, new: Workload | None) -> None:
        """Set the penalty at reservation; add it at admission; drop it if neither came."""
        if old is not None and (new is None or _queue_of(new) != _queue_of(old)):
            self._settle(old, is_due=False)
        if new is None or not has_quota_reservation(new):
            if new is not None:
                self._settle(new, is_due=False)
        elif is_admitted(new):
            self._settle(new, is_due=True)
        elif old is None or not has_quota_reservation(old):
            assert self.rules is not None, "nothing is penalized while it is switched off"
            found = self.queues[_queue_of(new)]
            penalty = entry_penalty(_reserved(new), self.rules)
            penalties = {**found.penalties, new.key: penalty}
            self.queues[_queue_of(new)] = replace(found, penalties=penalties)

    def _settle(self, workload: Workload, *, is_due: bool) -> None:
        found = self.queues[_queue_of(workload)]
        if workload.key not in found.penalties:
            return
        penalties = dict(found.penalties)
        penalty = penalties.pop(workload.key)
        consumed = summed(found.consumed, penalty) if is_due else found.consumed
        self.queues[_queue_of(workload)] = replace(found, consumed=consumed, penalties=penalties)


def _matters(old: Workload | None, new: Workload | None) -> bool:
    """Whether quota is held before or after, and something about it changed."""
    if old is None or new is None:
        return any(found is not None and has_quota_reservation(found) for found in (old, new))
    if not has_quota_reservation(old) and not has_quota_reservation(new):
        return False
    return _account(old) != _account(new)


def _account(workload: Workload) -> tuple[object, ...]:
    held = has_quota_reservation(workload)
    return held, is_admitted(workload), workload.admission, workload.reclaimable, workload.spec


def _queue_of(workload: Workload) -> str:
    return f"{workload.namespace}/{workload.spec.queue_name}"


def _used(workload: Workload) -> Requests:
    """What it uses as far as it is admitted; a mere reservation uses nothing yet."""
    return _reserved(workload) if has_quota_reservation(workload) and is_admitted(workload) else {}


def _reserved(workload: Workload) -> Requests:
    assert workload.admission is not None, "who holds quota has an admission"
    needed = needed_admission(workload.admission, workload.spec.pod_sets, workload.reclaimable)
    total: Requests = {}
    for given in needed.pod_set_assignments:
        total = added(total, given.resource_usage)
    return total


def _negated(usage: Requests) -> Requests:
    return {name: -amount for name, amount in usage.items()}
