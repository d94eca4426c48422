"""Verification of the whole log by independent accounting that shares no code with scheduling.

Here stands what its audits have in common: what can be found, and what is reported at the end.
"""

import msgspec

from headgate.domain.values.message import Message
from headgate.messages.catalogue import text_of


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule that does not hold, at the position and in the stream where that shows.

    `rule` is the text of the rule's `code`, `detail` what was counted.
    """

    position: int
    stream: str
    code: str
    rule: str
    detail: str


class Verification(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything read and every finding, in order of position.

    `starts_at` is above 1 where the beginning of the log was archived and dropped: then nothing
    was recounted, only that no event is missing since.
    """

    position: int
    starts_at: int = 1
    counts: dict[str, int]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


class Findings:
    """Collects findings while a log is read; the books add to it."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.position = 0
        self.stream = ""

    def at(self, position: int, stream: str) -> None:
        """What is found from now on shows at this event."""
        self.position, self.stream = position, stream

    def add(self, code: str, detail: str, *, stream: str = "") -> None:
        """The rule of that code does not hold here."""
        self.found.append(
            Finding(
                position=self.position,
                stream=stream or self.stream,
                code=code,
                rule=text_of(Message(code)),
                detail=detail,
            )
        )
