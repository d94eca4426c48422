"""What is odd about the configuration as it stands, or as it would stand after a change."""

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from headgate.application.access.redaction import NamespaceScope
from headgate.application.commands.decide import config_after
from headgate.application.commands.requests import CommandResult
from headgate.application.queries.views import Free, Position, Whole, message_view, view_from
from headgate.domain.cluster_state import ClusterState
from headgate.domain.lint import LintWarning, lint
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import Violation
from headgate.messages.catalogue import remedy_of, text_of

_KNOWN: WeakKeyDictionary[ClusterState, tuple[int, tuple[LintWarning, ...]]] = WeakKeyDictionary()
"""By cell the advice, and the position of the configuration that it is about."""


class AdviceView(Whole, kw_only=True, frozen=True):
    """One thing to look at: what is so, with its numbers, and what may have been meant."""

    kind: str
    namespace: str
    name: str
    pointer: str
    rule: str
    severity: str
    message: str
    remedy: str
    code: str = ""
    arguments: Free = {}


class AdvicePage(Whole, kw_only=True, frozen=True):
    """Everything worth a look, warnings first."""

    position: Position
    items: list[AdviceView]


def advice(cluster_state: ClusterState, scope: NamespaceScope) -> AdvicePage:
    """About the whole configuration, as far as one may see it."""
    return AdvicePage(position=cluster_state.position, items=_shown(_known(cluster_state), scope))


def warnings_in(cluster_state: ClusterState, scope: NamespaceScope) -> list[LintWarning]:
    """The warnings about the whole configuration, as far as a user may read it."""
    return [found for found in _known(cluster_state) if _is_visible(found, scope)]


def _is_visible(found: LintWarning, scope: NamespaceScope) -> bool:
    return scope is None or not found.namespace or found.namespace in scope


def _known(cluster_state: ClusterState) -> tuple[LintWarning, ...]:
    """The advice, worked out once for each change of the configuration: it is asked for often."""
    known = _KNOWN.get(cluster_state)
    if known is None or known[0] != cluster_state.config_position:
        known = _KNOWN[cluster_state] = (cluster_state.config_position, lint(cluster_state.config))
    return known[1]


def advice_about(config: ObjectSet, changes: Sequence[CommandResult]) -> list[AdviceView]:
    """About the configured objects among these changes, as things stand once they are made."""
    after = config_after(config, changes)
    if after is config:
        return []
    made = {changed.stream for changed in changes if changed.failure is None}
    return _shown((found for found in lint(after) if _stream_of(found) in made), None)


def field_warning(kind: str, namespace: str, name: str, found: Violation) -> AdviceView:
    """About a field of an object that is accepted without effect."""
    return AdviceView(
        kind=kind,
        namespace=namespace,
        name=name,
        pointer=found.pointer,
        rule=found.message.code,
        severity="warning",
        message=f"{text_of(found.message)}.",
        remedy=remedy_of(found.message),
        code=found.message.code,
        arguments=message_view(found.message).arguments,
    )


def _stream_of(found: LintWarning) -> str:
    name = f"{found.namespace}/{found.name}" if found.namespace else found.name
    return f"{found.kind.lower()}/{name}"


def _shown(found: Iterable[LintWarning], scope: NamespaceScope) -> list[AdviceView]:
    return [
        view_from(
            AdviceView,
            one,
            message=text_of(one.message),
            remedy=remedy_of(one.message),
            code=one.message.code,
            arguments=message_view(one.message).arguments,
        )
        for one in found
        if _is_visible(one, scope)
    ]
