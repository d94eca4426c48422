"""Creating, replacing and deleting configured objects."""

import msgspec

from headgate.api.answers import Answer
from headgate.api.callers import Caller, installation_of
from headgate.api.calls import Asking, answer_handled, call_of
from headgate.api.manifests import as_caller_wrote, object_writer, read_wanted
from headgate.api.objects.kinds import ObjectKind
from headgate.application import configure_objects
from headgate.domain.rejection import Rejection
from headgate.domain.streams import stream_of


class Target(msgspec.Struct, frozen=True):
    """Which object, at which version, and whether it is only tried."""

    kind: ObjectKind
    name: str = ""
    expected: int | None = None
    dry_run: bool = False


async def create(request: Caller, target: Target, body: bytes, key: str | None) -> Answer:
    """Make the object a body asks for."""
    wanted, desired = await read_wanted(request, body, target.kind.name)
    asking = Asking(key=key, is_dry_run=target.dry_run)
    call = await call_of(request, object_writer(target.kind.name, 201), asking)
    try:
        handled = await configure_objects.create(installation_of(request), call, wanted)
    except Rejection as rejection:
        raise as_caller_wrote(rejection, desired) from rejection
    location = f"{request.url.path.rstrip('/')}/{wanted.name}"
    return answer_handled(handled, location=location)


async def replace(request: Caller, target: Target, body: bytes) -> Answer:
    """Give the object the spec a body asks for."""
    wanted, desired = await read_wanted(request, body, target.kind.name)
    asking = Asking(is_dry_run=target.dry_run)
    call = await call_of(request, object_writer(target.kind.name), asking)
    installation = installation_of(request)
    try:
        handled = await configure_objects.replace(installation, call, wanted, target.expected)
    except Rejection as rejection:
        raise as_caller_wrote(rejection, desired) from rejection
    return answer_handled(handled)


async def delete(request: Caller, target: Target) -> Answer:
    """Delete the object, or have it go when nothing uses it any more."""
    asking = Asking(is_dry_run=target.dry_run)
    call = await call_of(request, object_writer(target.kind.name), asking)
    namespace = str(request.path_params.get("namespace", ""))
    stream = stream_of(target.kind.stream_kind, target.name, namespace)
    installation = installation_of(request)
    handled = await configure_objects.delete(installation, call, stream, target.expected)
    return answer_handled(handled)
