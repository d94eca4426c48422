"""Positions and versions: both count by one, from one, without exception."""

from headgate.application.verify.findings import Findings
from headgate.domain.recorded_event import RecordedEvent


class SequenceAudit:
    """Remembers the last position and the last version of every stream.

    A log that `starts_at` a later position may go on in the middle of a stream.
    """

    def __init__(self, findings: Findings, starts_at: int = 1) -> None:
        self._findings = findings
        self._is_whole = starts_at == 1
        self.position = starts_at - 1
        self.versions: dict[str, int] = {}

    def read(self, recorded: RecordedEvent) -> None:
        """Compare the event's numbers with those that must come next."""
        if recorded.position != self.position + 1:
            self._findings.add(
                "positions are gapless", f"{self.position} is followed by {recorded.position}"
            )
        unseen = 0 if self._is_whole else recorded.version - 1
        version = self.versions.get(recorded.stream, unseen)
        if recorded.version != version + 1:
            self._findings.add(
                "stream versions are gapless", f"{version} is followed by {recorded.version}"
            )
        self.position = recorded.position
        self.versions[recorded.stream] = recorded.version
