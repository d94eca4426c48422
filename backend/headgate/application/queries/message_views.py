"""Messages, blockers and protection rules in JSON: text, code and arguments."""

from typing import Any

from headgate.application.access.redaction import (
    NamespaceScope,
    message_json,
    shown_key,
    shown_keys,
    visible_to,
)
from headgate.application.queries.views import Free, Schema
from headgate.domain.values.message import Message
from headgate.domain.workloads.explanation import (
    Blocker,
    Explanation,
    HostExclusion,
    ProtectedCandidate,
)
from headgate.messages.catalogue import remedies_of, sentence_of, text_of

EXCLUSION_WORDS = {
    "Affinity": "affinity",
    "NodeSelector": "nodeSelector",
    "Resource": 'resource "{}"',
    "Taint": 'taint "{}"',
    "TopologyDomain": "topologyDomain",
    "Unusable": "not ready or cordoned",
    "Recorded": "{}",
}
"""Kueue's words for what excludes hosts (topology.md §5)."""


class RefusedView(Schema, kw_only=True, frozen=True):
    """A candidate that is not preempted, and the rule that protects it."""

    workload: str
    rule: str
    code: str
    arguments: Free = {}


class BlockerView(Schema, kw_only=True, frozen=True):
    """One thing that keeps a workload from admission; amounts are integers in base units.

    `message` is the text of `code` with its `arguments` and the fields beside them.
    """

    type: str
    reason: str
    message: str
    code: str
    arguments: Free = {}
    pod_set: str = ""
    flavor: str = ""
    resource: str = ""
    level: str = ""
    domain: str = ""
    need: int | None = None
    have: int | None = None
    short_by: int | None = None
    held_by: list[str] = []
    refused: list[RefusedView] = []
    excluded_hosts: dict[str, int] = {}


def message_text(found: Message, scope: NamespaceScope) -> str:
    """Returns the text of a message for a reader of these namespaces."""
    return text_of(found, visible_to(scope))


def sentence(found: Explanation, scope: NamespaceScope) -> str:
    """Returns the text of the dominant reason for a reader of these namespaces."""
    return sentence_of(found, visible_to(scope))


def remedies(found: Explanation, scope: NamespaceScope) -> list[str]:
    """Returns what would admit the workload, for a reader of these namespaces."""
    return remedies_of(found, visible_to(scope))


def arguments_view(found: Message, scope: NamespaceScope) -> dict[str, Any]:
    """Returns the arguments of a message as JSON; objects that are not visible are not named."""
    arguments: dict[str, Any] = message_json(found, visible_to(scope))["arguments"]
    return arguments


def blocker_view(blocker: Blocker, scope: NamespaceScope) -> BlockerView:
    """Returns a blocker as a reader of these namespaces may see it."""
    return BlockerView(
        type=blocker.type,
        reason=blocker.reason,
        message=message_text(blocker.full_message, scope),
        code=blocker.message.code,
        arguments=arguments_view(blocker.message, scope),
        pod_set=blocker.pod_set,
        flavor=blocker.flavor,
        resource=blocker.resource,
        level=blocker.level,
        domain=blocker.domain,
        need=blocker.need,
        have=blocker.have,
        short_by=blocker.short_by,
        held_by=shown_keys(blocker.held_by, scope),
        refused=[refused_view(refused, scope) for refused in blocker.refused],
        excluded_hosts={_exclusion_word(each): each.hosts for each in blocker.excluded_hosts},
    )


def refused_view(refused: ProtectedCandidate, scope: NamespaceScope) -> RefusedView:
    """Returns a protected candidate as a reader of these namespaces may see it."""
    return RefusedView(
        workload=shown_key(refused.workload, scope),
        rule=message_text(refused.rule, scope),
        code=refused.rule.code,
        arguments=arguments_view(refused.rule, scope),
    )


def _exclusion_word(found: HostExclusion) -> str:
    return EXCLUSION_WORDS[found.cause].format(found.detail)
