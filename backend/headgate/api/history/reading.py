"""Reading the history of the configuration."""

from collections.abc import Iterator
from typing import Any

from headgate.adapters.manifests.render import KIND_OF_STREAM, render
from headgate.api.answers import Answer, answer_view
from headgate.api.callers import Caller, services_of
from headgate.api.history import schemas
from headgate.application.config_history import Question, Revision, revisions
from headgate.application.queries.views import timestamp
from headgate.domain.configured import Absent, Configured
from headgate.domain.streams import kind_and_key
from headgate.event_log.catalogue import name_of

__all__ = ["Question", "list_revisions"]

MISSING = object()


async def list_revisions(request: Caller, question: Question) -> Answer:
    """A page of changes."""
    services = services_of(request)
    found = await revisions(services, question, request.user.namespaces)
    view = schemas.RevisionList(
        position=services.reader.position,
        items=[_shown(revision) for revision in found],
        next=found[-1].recorded.position if len(found) == question.limit else None,
    )
    return answer_view(view)


def differences(before: Any, after: Any, path: str = "") -> Iterator[schemas.Difference]:  # noqa: ANN401 - any JSON value
    """Every place where two values differ, by path; lists are compared item by item."""
    if before == after:
        return
    keys = _keys(before, after)
    if keys is None:
        told = {
            name: value
            for name, value in (("before", before), ("after", after))
            if value is not MISSING
        }
        yield schemas.Difference(path=path or "/", **told)
        return
    for key in keys:
        yield from differences(_at(before, key), _at(after, key), f"{path}/{key}")


def _keys(before: Any, after: Any) -> list[Any] | None:  # noqa: ANN401 - same
    """What both are made of; None for what is told as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        return sorted({*before, *after})
    if isinstance(before, list) and isinstance(after, list):
        return list(range(max(len(before), len(after))))
    return None


def _at(value: Any, key: Any) -> Any:  # noqa: ANN401 - same
    if isinstance(value, dict):
        return value.get(key, MISSING)
    return value[key] if key < len(value) else MISSING


def _shown(revision: Revision) -> schemas.Revision:
    recorded = revision.recorded
    kind, key = kind_and_key(recorded.stream)
    namespace, _, name = key.rpartition("/")
    before, after = (_content(kind, state) for state in (revision.before, revision.after))
    return schemas.Revision(
        position=recorded.position,
        at=timestamp(recorded.at),
        stream=recorded.stream,
        kind=KIND_OF_STREAM[kind],
        name=name,
        namespace=namespace,
        type=name_of(type(recorded.event)),
        actor=recorded.origin.actor,
        reason=recorded.origin.reason,
        differences=list(differences(before, after)),
    )


def _content(kind: str, state: Absent | Configured[Any]) -> Any:  # noqa: ANN401 - same
    """What somebody wrote: labels, annotations and spec."""
    if isinstance(state, Absent):
        return MISSING
    manifest = render(KIND_OF_STREAM[kind], state, 0)
    metadata = manifest["metadata"]
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    return {**kept, "spec": manifest.get("spec", {})}
