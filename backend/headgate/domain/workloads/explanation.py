"""The recorded reason why a workload is pending, for API, command line and page (product.md 5)."""

from typing import Literal

import msgspec

from headgate.domain.values.message import WorkloadKey

BlockerType = Literal[
    "Quota",
    "Topology",
    "Preemption",
    "Order",
    "Hold",
    "Backoff",
    "Queue",
    "AdmissionCheck",
    "Round",
]


class ProtectedCandidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A preemption candidate and the rule that protects it."""

    workload: WorkloadKey
    rule: str


class Blocker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that keeps a workload from admission. Pods and slices count one.

    Amounts are in the units of `quantities`. `reason` is a CamelCase word, `message` a sentence;
    `need`, `have` and `short_by` are set where the blocker is about an amount.
    """

    type: BlockerType
    reason: str
    message: str
    pod_set: str = ""
    flavor: str = ""
    resource: str = ""
    level: str = ""
    domain: str = ""
    need: int | None = None
    have: int | None = None
    short_by: int | None = None
    held_by: tuple[WorkloadKey, ...] = ()
    refused: tuple[ProtectedCandidate, ...] = ()
    excluded_hosts: dict[str, int] = {}


class Explanation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The dominant reason of a pending workload, all blockers, and what would help.

    `evaluated` is false where no evaluation was needed, and `dominant` says why. Explanations with
    equal `fingerprint` tell a user the same.
    """

    dominant: str
    sentence: str
    evaluated: bool = True
    blockers: tuple[Blocker, ...] = ()
    would_unblock: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> tuple[str, bool, tuple[tuple[str, ...], ...]]:
        """The part of the explanation that must change for it to be recorded again.

        A shortage counts by its order of magnitude (powers of two): on a busy installation it moves
        with every admission, which is no news.
        """
        matrix = tuple(
            (b.type, b.reason, b.pod_set, b.flavor, b.resource, b.level, _magnitude(b.short_by))
            for b in self.blockers
        )
        return (self.dominant, self.evaluated, matrix)


def _magnitude(short_by: int | None) -> str:
    return "" if short_by is None else str(short_by.bit_length())
