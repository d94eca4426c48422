"""Reading configured objects: one, and lists page by page."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headgate.adapters.manifests.codec import Codec
from headgate.api.answers import Answer, answer, not_modified
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import manifest_of, manifests_as_written
from headgate.api.pages import after_token, collect_page, continue_token
from headgate.api.parameters import label_selector
from headgate.api.problems import NOT_FOUND, ApiFailure
from headgate.application.access.redaction import NamespaceScope, allows
from headgate.application.application_services import ApplicationServices
from headgate.application.ports import Loaded
from headgate.application.queries.did_you_mean import did_you_mean
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.scheduling.node_constraints import matches_selector
from headgate.domain.streams import stream_of
from headgate.domain.values.selectors import LabelSelector


class Page(msgspec.Struct, frozen=True):
    """Which page of a list."""

    limit: int
    after: str | None
    selector: str | None
    with_defaults: bool = False


class _Wanted(msgspec.Struct, frozen=True):
    kind: str
    namespace: str | None
    selector: LabelSelector | None
    scope: NamespaceScope

    def belongs(self, loaded: Loaded) -> bool:
        """Whether an object belongs into the list."""
        state = loaded.state
        if not allows(self.scope, loaded.stream):
            return False
        return self.selector is None or matches_selector(state.labels, self.selector)


async def read(
    request: Caller,
    codec: Codec,
    name: str,
    if_none_match: str | None,
    *,
    with_defaults: bool,
) -> Answer:
    """One object as it stands: as it was written, or with every default."""
    services = services_of(request)
    stream = stream_of(codec.kind.stream_kind, name, str(request.path_params.get("namespace", "")))
    (loaded,) = await asyncio.to_thread(services.models.load, [stream])
    if isinstance(loaded.state, Absent) or not allows(request.user.namespaces, stream):
        remedy = did_you_mean(services.reader.cluster_state, stream, request.user.namespaces)
        raise ApiFailure(NOT_FOUND, f"There is no {codec.kind.name} {name}.", remedy=remedy)
    position = max(loaded.position, services.reader.position)
    if not codec.is_status_derived:
        unmodified = not_modified(loaded.version, if_none_match, position=position)
        if unmodified is not None:
            return unmodified
    (body,) = await _shown(services, codec, [loaded], with_defaults=with_defaults)
    return answer(body, position=position, version=loaded.version)


async def list_objects(request: Caller, codec: Codec, page: Page) -> Answer:
    """A page of objects in order of their names."""
    services = services_of(request)
    namespace = request.path_params.get("namespace")
    question = f"{codec.kind.name}|{namespace or ''}|{page.selector or ''}"
    wanted = _Wanted(
        codec.kind.stream_kind,
        None if namespace is None else str(namespace),
        label_selector(page.selector),
        request.user.namespaces,
    )
    after = after_token(page.after, question, str) or ""
    position = services.reader.position
    found, more = await collect_page(
        _rows(services, wanted), wanted.belongs, lambda row: row.stream, after, page.limit
    )
    metadata = {"resourceVersion": str(position)}
    if more:
        metadata["continue"] = continue_token(found[-1].stream, question)
    items = await _shown(services, codec, found, with_defaults=page.with_defaults)
    body = {
        "apiVersion": codec.versions[0],
        "kind": f"{codec.kind.name}List",
        "metadata": metadata,
        "items": items,
    }
    return answer(body, position=position)


async def _shown(
    services: ApplicationServices, codec: Codec, found: Sequence[Loaded], *, with_defaults: bool
) -> list[dict[str, Any]]:
    kind = codec.kind.name
    if with_defaults:
        return [manifest_of(services, kind, one.state, one.position) for one in found]
    return await manifests_as_written(services, kind, found)


def _rows(services: ApplicationServices, wanted: _Wanted) -> Callable[[str, int], Sequence[Loaded]]:
    def read(after: str, limit: int) -> Sequence[Loaded]:
        return services.models.objects(
            wanted.kind, namespace=wanted.namespace, after=after, limit=limit
        )

    return read
