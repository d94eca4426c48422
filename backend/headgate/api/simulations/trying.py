"""From a request to the changes that are to be tried out."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.adapters.manifests.desired import Desired
from headgate.adapters.manifests.rendering.workloads import rendered_admission
from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, origin_of, require_namespace, services_of
from headgate.api.documents import parsed
from headgate.api.manifests import read_wanted, with_written_pointers
from headgate.api.parameters import listed, whole_number
from headgate.api.problems import INVALID_REQUEST, NOT_FOUND, ApiFailure
from headgate.api.schemas import ProblemError
from headgate.api.workloads.batch import Entry, entry_of
from headgate.application.access.redaction import allows
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.apply_objects import change_to
from headgate.application.commands.requests import StreamCommand
from headgate.application.commands.submit_workloads import submission
from headgate.application.cooperative import each, run_yielding
from headgate.application.simulations.changes import cordoning, deletion, new_priority
from headgate.application.simulations.simulate import Viewer
from headgate.application.simulations.simulate import simulate as foresee
from headgate.domain.rejection import Rejection


class Asked(NamedTuple):
    """What is to be tried, as it was written."""

    body: bytes
    deletions: str | None = None
    priorities: str | None = None
    cordons: str | None = None


async def simulate(request: Caller, asked: Asked) -> Answer:
    """What would happen if all of it were done, one after the other."""
    services = services_of(request)
    entries = await entries_of(request, asked.body)
    changes = [
        *await run_yielding(each(_change_of(request, entry) for entry in entries)),
        *_other_changes(request, services, asked),
    ]
    if not changes:
        remedy = "Send objects, or name what to delete, to cordon or to give another priority."
        raise ApiFailure(INVALID_REQUEST, "There is nothing to try out.", remedy=remedy)
    desired = entries[0].desired if len(changes) == len(entries) == 1 else None
    return await tried(request, changes, desired)


async def simulate_submit(request: Caller, body: bytes) -> Answer:
    """What would become of the workload of a body if it were submitted now."""
    wanted, desired = await read_wanted(request, body, "Workload")
    return await tried(request, [submission(services_of(request), wanted)], desired)


async def tried(
    request: Caller, changes: Sequence[StreamCommand], desired: Desired | None
) -> Answer:
    """The answer to what changes would lead to; `desired` is the one object behind them, if any."""
    viewer = Viewer(request.user.namespaces, rendered_admission)
    try:
        view = await foresee(services_of(request), changes, viewer)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) if desired else rejection from rejection
    return answer(view, position=view.as_of.position)


async def entries_of(request: Caller, body: bytes) -> list[Entry]:
    """The documents of a body, none of them refused; raises the first failure."""
    if not body.strip():
        return []
    found = await parsed(request, body)
    entries = await run_yielding(each(entry_of(request, one) for one in found))
    for entry in entries:
        if entry.failure is not None:
            raise entry.failure
    return entries


def _change_of(request: Caller, entry: Entry) -> StreamCommand:
    assert entry.wanted is not None, "an entry without a failure says what is wanted"
    return change_to(services_of(request), origin_of(request).actor, entry.wanted)


def _other_changes(
    request: Caller, services: ApplicationServices, asked: Asked
) -> list[StreamCommand]:
    changes = []
    for stream in listed(asked.deletions):
        _need(request, stream, "/delete")
        changes.append(deletion(services, stream))
    for text in listed(asked.priorities):
        key, _, number = text.rpartition(":")
        size = whole_number(number.removeprefix("-"))
        if not key or size is None:
            raise _malformed("/priority", f"{text!r} is not `namespace/name:number`.")
        _need(request, f"workload/{key}", "/priority")
        changes.append(new_priority(services, key, int(number)))
    for node in listed(asked.cordons):
        _need(request, f"node/{node}", "/cordon")
        changes.append(cordoning(node))
    return changes


def _need(request: Caller, stream: str, pointer: str) -> None:
    """What is to be changed must be there, and be the caller's to see."""
    kind, _, key = stream.partition("/")
    if not key:
        raise _malformed(pointer, f"{stream!r} is not `kind/name`.")
    if kind == "workload":
        require_namespace(request.user, key.partition("/")[0])
    is_known = services_of(request).reader.cell.version_of(stream) > 0
    if not is_known or not allows(request.user.namespaces, stream):
        raise ApiFailure(NOT_FOUND, f"There is no {stream}.")


def _malformed(pointer: str, rule: str) -> ApiFailure:
    error = ProblemError(pointer=pointer, rule=rule)
    return ApiFailure(INVALID_REQUEST, "It cannot be tried out.", errors=(error,))
