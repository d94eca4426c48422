"""The catalogue of texts by code; texts of messages and explanations (language.md §1.7)."""

from collections.abc import Mapping

from headgate.domain.values.message import Message, MessageOrText
from headgate.domain.workloads.explanation import Explanation
from headgate.messages import (
    findings,
    object_rules,
    pending_reasons,
    rejections,
    workload_events,
    workload_rules,
)
from headgate.messages.rendering import Absent, IsVisible, Text, everything_visible, fill

AS_RECORDED = "AsRecorded"
"""The code of a sentence that the log holds from before messages had codes, as `text`."""

REMEDY_OF = "RemedyOf"
"""The code of the remedy of another message, as its argument `found`."""

FAMILIES: tuple[Mapping[str, Text], ...] = (
    pending_reasons.TEXTS,
    workload_events.TEXTS,
    rejections.TEXTS,
    object_rules.FIELD_TEXTS,
    object_rules.TEXTS,
    object_rules.MANIFEST_TEXTS,
    workload_rules.TEXTS,
    findings.TEXTS,
)
TEXTS: Mapping[str, Text] = {code: text for each in FAMILIES for code, text in each.items()}
WITHHELD = "Recorded as a sentence by an earlier version; shown to administrators only"


def text_of(found: Message, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of a message for a reader; references that are not visible are not named.

    A message that this version has no text for is shown as its code.
    """
    if found.code == AS_RECORDED:
        is_for_all = is_visible is everything_visible
        return str(found.arguments.get("text", "")) if is_for_all else WITHHELD
    about = found.arguments.get("found")
    if found.code == REMEDY_OF and isinstance(about, Message):
        return remedy_of(about, is_visible)
    known = TEXTS.get(found.code)
    return found.code if known is None else _filled(known.text, found, is_visible)


def worded(found: MessageOrText, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of a message; a text that a user wrote is shown to all as it is."""
    return found if isinstance(found, str) else text_of(found, is_visible)


def remedy_of(found: Message, is_visible: IsVisible = everything_visible) -> str:
    """Returns what to do about a message; empty where its text has no remedy."""
    known = TEXTS.get(found.code)
    return "" if known is None else _filled(known.remedy, found, is_visible)


def _filled(template: str, found: Message, is_visible: IsVisible) -> str:
    try:
        return fill(template, found.arguments, lambda each: text_of(each, is_visible), is_visible)
    except Absent:
        return found.code


def sentence_of(found: Explanation, is_visible: IsVisible = everything_visible) -> str:
    """Returns the text of the dominant reason."""
    return text_of(found.reason_message, is_visible)


def remedy_messages(found: Explanation) -> tuple[Message, ...]:
    """Returns what would admit the workload: what ends the dominant reason first, then the rest."""
    own = () if found.message is None else (found.message,)
    blockers = sorted(enumerate(found.blockers), key=lambda each: each[0] != found.deciding)
    messages = (*own, *(blocker.full_message for _, blocker in blockers))
    remedies = (Message(REMEDY_OF, {"found": each}) for each in messages if remedy_of(each))
    by_text = {text_of(each): each for each in (*remedies, *found.would_unblock)}
    return tuple(by_text.values())


def remedies_of(found: Explanation, is_visible: IsVisible = everything_visible) -> list[str]:
    """Returns the texts of what would admit the workload."""
    return list(dict.fromkeys(text_of(each, is_visible) for each in remedy_messages(found)))
