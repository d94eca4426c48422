"""Sentence and remedies of an explanation for a reader."""

from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import Explanation
from headgate.messages.catalogue import REMEDY_OF, remedy_of, text_of
from headgate.messages.rendering import IsVisible, everything_visible


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
