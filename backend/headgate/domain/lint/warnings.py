"""A lint warning: one likely mistake in the configuration."""

from typing import Literal

import msgspec

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
    """`message` says what is so with its numbers, `remedy` what may have been meant.

    `kind` is as in manifests; `pointer` leads into the object. A note is true of many good
    configurations; a warning hardly ever is meant.
    """

    kind: str
    namespace: str = ""
    name: str
    pointer: str
    rule: LintRule
    severity: Literal["warning", "note"] = "warning"
    message: str
    remedy: str
