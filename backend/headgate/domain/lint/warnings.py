"""A lint warning: one likely mistake in the configuration."""

from typing import Literal

import msgspec

from headgate.domain.values.message import Message

LintRule = Literal[
    "UnitSlip",
    "UnlimitedBorrowing",
    "UnreachableFlavor",
    "ShadowedFlavor",
    "UnusableQuota",
    "Oversubscribed",
    "QueueWithoutFlavors",
    "QueueWithoutLocalQueue",
    "QueueWithoutNamespaces",
    "MissingReference",
    "CohortCycle",
]


class LintWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A likely mistake in one object; the text of `message` has the numbers, its remedy the fix.

    `kind` is as in manifests; `pointer` leads into the object. A note is true of many good
    configurations; a warning hardly ever is meant.
    """

    kind: str
    namespace: str = ""
    name: str
    pointer: str
    rule: LintRule
    severity: Literal["warning", "note"] = "warning"
    message: Message
