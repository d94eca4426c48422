"""The use case: read everything, recount everything, compare everything."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from headgate.application.failures import GapInLog
from headgate.application.ports import ReadModels
from headgate.application.verify.chain_audit import ChainedLog, audit_chain
from headgate.application.verify.findings import Findings, Verification
from headgate.application.verify.history import History, SequenceAudit
from headgate.application.verify.read_model_audit import (
    States,
    check_erased,
    check_written,
    compare,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.messages.catalogue import text_of

Tell = Callable[[int, int], None]
"""Told now and then how many events have been read, of how many."""

TELL_EVERY = 5_000


class Comparable(Protocol):
    """Followed read models that can be held against their own rebuilding."""

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        ...

    def differences(self, name: str) -> tuple[int, int]:
        """Returns the position, and how many rows differ from rebuilt ones."""
        ...


class Verifier:
    """Verifies one log and all the read models beside it."""

    def __init__(self, log: ChainedLog, read_models: ReadModels, followers: Comparable) -> None:
        self._followers = followers
        self._log = log
        self._read_models = read_models

    def verify(self, tell: Tell) -> Verification:
        """Everything up to the present head; nothing is written."""
        head = self._log.head()
        history, states, cluster_state = History(), States(), ClusterState()
        try:
            for recorded in self._log.read_all(0, head):
                self._read(recorded, history, states, cluster_state)
                if recorded.position % TELL_EVERY == 0:
                    tell(recorded.position, head)
        except GapInLog as gap:
            if gap.came and not history.sequence.position:
                return self._rest(gap.came, head)
            history.findings.add("PositionsAreGapless", str(gap))
        self._conclude(history, states, cluster_state)
        self._check_chain(history.findings)
        tell(head, head)
        found = sorted(history.findings.found, key=lambda each: (each.position, each.stream))
        return Verification(position=head, counts=dict(history.counts), findings=tuple(found))

    def _rest(self, starts_at: int, head: int) -> Verification:
        """What can be checked of a log with its beginning archived and dropped: nothing is missing.

        All else is counted from the beginning, and so cannot be.
        """
        findings, counts = Findings(), Counter[str]()
        sequence = SequenceAudit(findings, starts_at)
        try:
            for recorded in self._log.read_all(starts_at - 1, head):
                findings.at(recorded.position, recorded.stream)
                sequence.read(recorded)
                counts[recorded.stream.partition("/")[0]] += 1
        except GapInLog as gap:
            findings.add("PositionsAreGapless", str(gap))
        self._check_chain(findings)
        return Verification(
            position=head, starts_at=starts_at, counts=dict(counts), findings=tuple(findings.found)
        )

    def _check_chain(self, findings: Findings) -> None:
        audit = audit_chain(self._log)
        if audit.differs_at is not None:
            findings.at(audit.differs_at, "")
            findings.add("HashChainHolds", f"first differs at {audit.differs_at}")

    def _read(
        self, recorded: RecordedEvent, history: History, states: States, cluster_state: ClusterState
    ) -> None:
        history.read(recorded)
        states.read(recorded)
        if recorded.position == cluster_state.position + 1:
            cluster_state.apply(recorded)

    def _conclude(self, history: History, states: States, cluster_state: ClusterState) -> None:
        history.conclude(self._log.now())
        for stream, reason in sorted(cluster_state.quarantined.items()):
            history.findings.add("EveryEventCanBeFolded", text_of(reason), stream=stream)
        for name in self._followers.names():
            position, differing = self._followers.differences(name)
            history.findings.at(position, name)
            if differing:
                history.findings.add(
                    "FollowerShowsWhatItsRebuildingShows", f"{differing} rows differ"
                )
        check_written(states, self._read_models, history.findings)
        check_erased(states, self._read_models, history.findings)
        history.counts["read-model rows"] = compare(states, self._read_models, history.findings)
