"""Positions and versions: both count by one, from one, without exception."""

from headgate.application.verify.findings import Findings
from headgate.domain.facts import Recorded


class SequenceBook:
    """Remembers the last position and the last version of every stream."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.position = 0
        self.versions: dict[str, int] = {}

    def read(self, recorded: Recorded) -> None:
        """Compare the event's numbers with those that must come next."""
        if recorded.position != self.position + 1:
            self._findings.add(
                "positions are gapless", f"{self.position} is followed by {recorded.position}"
            )
        version = self.versions.get(recorded.stream, 0)
        if recorded.version != version + 1:
            self._findings.add(
                "stream versions are gapless", f"{version} is followed by {recorded.version}"
            )
        self.position = recorded.position
        self.versions[recorded.stream] = recorded.version
