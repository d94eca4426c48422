"""The recent usage of each LocalQueue, folded from the log (admission fair sharing, ADR 0012).

Kueue: `pkg/cache/queue/afs`, `reconcileConsumedUsage`. It is part of the fold: the state cache
keeps it with the pending penalties, so a restart changes nothing. Nothing is kept while admission
fair sharing is off; switching it on starts from nothing.
"""

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import Requests, added
from headgate.domain.workloads.admission import needed_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, is_admitted

AMOUNT_SCALE = 1 << 32


FACTOR_BITS = 64


FACTOR_SCALE = 1 << FACTOR_BITS


GUARD_BITS = 32
"""Bits kept beyond `FACTOR_BITS` in a product, so that roundings do not add up."""


ScaledAmounts: TypeAlias = dict[str, int]
"""Resource name to amount in `AMOUNT_SCALE`-ths of its unit."""


class Consumption(msgspec.Struct, frozen=True, kw_only=True):
    """The usage that one LocalQueue had consumed at `at`, and its `usage` since then.

    `penalties` are what workloads with reserved quota add when they are admitted, by their keys,
    where usage counts from the admission: a reservation counts at once, long before the usage
    shows.
    """

    at: Instant
    consumed: ScaledAmounts = {}
    usage: Requests = {}
    penalties: dict[str, ScaledAmounts] = {}


def decayed(found: Consumption, at: Instant, rules: AdmissionFairSharing) -> Consumption:
    """Returns the consumption at a later instant; a half-life of 0 forgets everything."""
    elapsed = max(0, at - found.at)
    if not rules.usage_half_life_seconds:
        consumed: ScaledAmounts = {}
    elif elapsed:
        left = decay_factor(elapsed, rules.usage_half_life_seconds)
        consumed = _moving_average(found.consumed, found.usage, left)
    else:
        consumed = found.consumed
    return msgspec.structs.replace(found, at=max(at, found.at), consumed=consumed)


def entry_penalty(requests: Mapping[str, int], rules: AdmissionFairSharing) -> ScaledAmounts:
    """Returns the penalty of an admission: what one sampling interval of its requests leaves."""
    if not rules.usage_half_life_seconds:
        return {}
    interval = rules.usage_sampling_interval_seconds * MICROSECONDS_PER_SECOND
    gained = FACTOR_SCALE - decay_factor(interval, rules.usage_half_life_seconds)
    return {
        name: amount * AMOUNT_SCALE * gained // FACTOR_SCALE
        for name, amount in sorted(requests.items())
    }


def with_penalties(found: Consumption) -> ScaledAmounts:
    """Returns the consumption that counts in the order: consumed usage and pending penalties."""
    total = dict(found.consumed)
    for penalty in found.penalties.values():
        total = summed(total, penalty)
    return total


def summed(left: Mapping[str, int], right: Mapping[str, int]) -> ScaledAmounts:
    """Returns the sum of two amounts by resource, without zeros."""
    names = sorted({*left, *right})
    total = {name: left.get(name, 0) + right.get(name, 0) for name in names}
    return {name: amount for name, amount in total.items() if amount}


def decay_factor(elapsed: int, half_life_seconds: int) -> int:
    """Returns `2 ** -(elapsed / half-life)` in `FACTOR_SCALE`-ths; `elapsed` is in microseconds.

    Whole half-lives are shifts. The rest, a binary fraction, is a product of the roots of one half
    that stand for its digits.
    """
    half_life = half_life_seconds * MICROSECONDS_PER_SECOND
    halvings, rest = divmod(elapsed, half_life)
    digits = (rest << FACTOR_BITS) // half_life
    left = 1 << _ROOT_BITS
    for place, root in enumerate(_ROOTS, start=1):
        if digits >> (FACTOR_BITS - place) & 1:
            left = left * root >> _ROOT_BITS
    return left >> GUARD_BITS + halvings


def _moving_average(
    consumed: Mapping[str, int], usage: Mapping[str, int], left: int
) -> ScaledAmounts:
    names = sorted({*consumed, *usage})
    mixed = {
        name: (
            consumed.get(name, 0) * left + usage.get(name, 0) * AMOUNT_SCALE * (FACTOR_SCALE - left)
        )
        >> FACTOR_BITS
        for name in names
    }
    return {name: amount for name, amount in mixed.items() if amount}


def _roots_of_one_half() -> tuple[int, ...]:
    """Returns the square root of one half, its root, and so on."""
    roots = []
    root = 1 << _ROOT_BITS - 1
    for _ in range(FACTOR_BITS):
        root = isqrt(root << _ROOT_BITS)
        roots.append(root)
    return tuple(roots)


_ROOT_BITS = FACTOR_BITS + GUARD_BITS


_ROOTS = _roots_of_one_half()


UsageUndo = dict[str, Consumption | None]
"""The LocalQueues that changed, with their consumption before."""


class UsageHistory:
    """The consumption of each LocalQueue (`namespace/name`); `rules` is None while it is off.

    A queue that is deleted and created again keeps its history.
    """

    def __init__(self) -> None:
        self.rules: AdmissionFairSharing | None = None
        self.queues: dict[str, Consumption] = {}

    def configure(
        self, rules: AdmissionFairSharing | None, workloads: Iterable[Workload], at: Instant
    ) -> UsageUndo:
        """Changes the rules: usage until now decays by the old ones. Returns the undo."""
        old_rules, self.rules = self.rules, rules
        before = self.queues
        if rules is None or old_rules is None:
            self.queues = {}
        else:
            self.queues = {key: decayed(found, at, old_rules) for key, found in before.items()}
        if rules is not None and old_rules is None and not self._counts_reservations:
            for workload in workloads:
                self.replace(None, workload, at)
        elif rules is not None and (
            old_rules is None or old_rules.usage_anchor != rules.usage_anchor
        ):
            self.queues = {key: _settled(found) for key, found in self.queues.items()}
            for workload in workloads:
                if has_quota_reservation(workload):
                    self._change(workload.local_queue_key, at, self._used(workload))
        return {key: before.get(key) for key in sorted({*before, *self.queues})}

    def replace(self, old: Workload | None, new: Workload | None, at: Instant) -> UsageUndo:
        """Counts a workload that was added, changed or deleted. Returns the undo."""
        if self.rules is None or not _matters(old, new):
            return {}
        changed = {workload.local_queue_key for workload in (old, new) if workload is not None}
        before: UsageUndo = {key: self.queues.get(key) for key in sorted(changed)}
        if old is not None:
            self._change(old.local_queue_key, at, _negated(self._used(old)))
        if new is not None:
            self._change(new.local_queue_key, at, self._used(new))
        if self._counts_reservations:
            self._add_penalty(old, new)
        else:
            self._penalize(old, new)
        return before

    def restore(self, before: UsageUndo) -> None:
        """Undoes a `replace`, the latest first."""
        for key, found in before.items():
            if found is None:
                self.queues.pop(key, None)
            else:
                self.queues[key] = found

    def at(self, local_queue: str, at: Instant) -> Consumption:
        """Returns the consumption of a LocalQueue at an instant not before its last change."""
        found = self.queues.get(local_queue)
        if self.rules is None or found is None:
            return Consumption(at=at)
        return decayed(found, at, self.rules)

    def copied(self) -> "UsageHistory":
        """Returns an independent copy."""
        history = UsageHistory()
        history.rules = self.rules
        history.queues = dict(self.queues)
        return history

    def dump(self) -> bytes:
        """Returns the history as text, which bounds no number."""
        return msgspec.json.encode(self.queues)

    @classmethod
    def load(cls, rules: AdmissionFairSharing | None, body: bytes) -> "UsageHistory":
        """Returns the history that `dump` wrote."""
        history = cls()
        history.rules = rules
        history.queues = msgspec.json.decode(body, type=dict[str, Consumption])
        return history

    def _change(self, key: str, at: Instant, usage: Requests) -> None:
        found = self.at(key, at)
        left = {name: amount for name, amount in added(found.usage, usage).items() if amount}
        self.queues[key] = replace(found, usage=left)

    @property
    def _counts_reservations(self) -> bool:
        return self.rules is not None and self.rules.usage_anchor == "QuotaReserved"

    def _used(self, workload: Workload) -> Requests:
        """Returns the usage of a workload that counts from the anchor on."""
        if not has_quota_reservation(workload):
            return {}
        counts = self._counts_reservations or is_admitted(workload)
        return _reserved(workload) if counts else {}

    def _add_penalty(self, old: Workload | None, new: Workload | None) -> None:
        """Adds the penalty with each reservation; what was added stays when it ends."""
        was_reserved = old is not None and has_quota_reservation(old)
        if new is None or was_reserved or not has_quota_reservation(new):
            return
        assert self.rules is not None, "nothing is penalized while it is switched off"
        found = self.queues[new.local_queue_key]
        consumed = summed(found.consumed, entry_penalty(_reserved(new), self.rules))
        self.queues[new.local_queue_key] = replace(found, consumed=consumed)

    def _penalize(self, old: Workload | None, new: Workload | None) -> None:
        """Sets the penalty at reservation, adds it at admission, and drops it without either."""
        if old is not None and (new is None or new.local_queue_key != old.local_queue_key):
            self._settle(old, is_due=False)
        if new is None or not has_quota_reservation(new):
            if new is not None:
                self._settle(new, is_due=False)
        elif is_admitted(new):
            self._settle(new, is_due=True)
        elif old is None or not has_quota_reservation(old):
            assert self.rules is not None, "nothing is penalized while it is switched off"
            found = self.queues[new.local_queue_key]
            penalty = entry_penalty(_reserved(new), self.rules)
            penalties = {**found.penalties, new.key: penalty}
            self.queues[new.local_queue_key] = replace(found, penalties=penalties)

    def _settle(self, workload: Workload, *, is_due: bool) -> None:
        found = self.queues[workload.local_queue_key]
        if workload.key not in found.penalties:
            return
        penalties = dict(found.penalties)
        penalty = penalties.pop(workload.key)
        consumed = summed(found.consumed, penalty) if is_due else found.consumed
        self.queues[workload.local_queue_key] = replace(
            found, consumed=consumed, penalties=penalties
        )


def _settled(found: Consumption) -> Consumption:
    """Returns the consumption with pending penalties added and no usage: the anchor has moved."""
    return replace(found, consumed=with_penalties(found), usage={}, penalties={})


def _matters(old: Workload | None, new: Workload | None) -> bool:
    """Whether quota is reserved before or after, and something about it changed."""
    if old is None or new is None:
        return any(found is not None and has_quota_reservation(found) for found in (old, new))
    if not has_quota_reservation(old) and not has_quota_reservation(new):
        return False
    return _account(old) != _account(new)


def _account(workload: Workload) -> tuple[object, ...]:
    held = has_quota_reservation(workload)
    return held, is_admitted(workload), workload.admission, workload.reclaimable, workload.spec


def _reserved(workload: Workload) -> Requests:
    assert workload.admission is not None, "a workload with quota has an admission"
    needed = needed_admission(workload.admission, workload.spec.pod_sets, workload.reclaimable)
    total: Requests = {}
    for given in needed.pod_set_assignments:
        total = added(total, given.resource_usage)
    return total


def _negated(usage: Requests) -> Requests:
    return {name: -amount for name, amount in usage.items()}
