"""`POST /v1/simulations`: the effects that changes would have.

Nothing is written to the log. A simulation is recorded where its request says so: forecasts that
the page makes while a user types are none that a user looks for again.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from litestar import Controller, post
from litestar.params import QueryParameter, RawBody
from msgspec.structs import replace

from headgate.adapters.manifests.parse import Desired
from headgate.adapters.manifests.workload import rendered_admission
from headgate.api.answers import Answer, answer, encoded, response
from headgate.api.bodies import EXAMPLE_WORKLOAD, request_documents
from headgate.api.callers import (
    Caller,
    origin_of,
    require_namespace,
    services_of,
    while_connected,
)
from headgate.api.manifests import Entry, entry_of, parsed, read_wanted, with_written_pointers
from headgate.api.parameters import listed, whole_number
from headgate.api.problems import INVALID_REQUEST, ApiFailure
from headgate.application.access.identity import ADMIN, SUBMIT_WORKLOADS, Identity
from headgate.application.access.redaction import allows
from headgate.application.access.rights import Right
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import catch_up
from headgate.application.commands.object_commands import change_to
from headgate.application.commands.requests import DesiredObject, StreamCommand
from headgate.application.commands.submission_commands import submission
from headgate.application.cooperative import drop, each, run_yielding
from headgate.application.simulation_records import (
    OtherChanges,
)
from headgate.application.simulation_run import SimulationView, cordoning, deletion, new_priority
from headgate.application.simulations import (
    SimulationOrder,
    Viewer,
    record_simulation,
)
from headgate.application.simulations import simulate as foresee
from headgate.domain.field_rules import shown
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.rejection import InvalidRequest, NotFound, Rejection

Deletions = Annotated[
    str | None,
    QueryParameter(
        name="delete",
        description="Objects to leave out, by comma: `node/host-1`, `workload/team-a/train-7`",
    ),
]
Priorities = Annotated[
    str | None,
    QueryParameter(name="priority", description="New priorities, by comma: `team-a/train-7:100`"),
]
Cordons = Annotated[
    str | None, QueryParameter(name="cordon", description="Nodes that take nothing new, by comma")
]


Title = Annotated[str, QueryParameter(max_length=200, description="What it is called in the list")]


class Simulations(Controller):
    """What-if."""

    path = "/simulations"
    tags = ["Simulations"]

    @post(
        operation_id="simulate",
        summary="What would happen if these objects were applied",
        status_code=200,
        operation_class=request_documents(EXAMPLE_WORKLOAD),
        responses=response(SimulationView),
        opt={"right": "read simulations", "past": True, "long": True},
    )
    async def simulate(
        self,
        request: Caller,
        body: RawBody,
        deletions: Deletions = None,
        priorities: Priorities = None,
        cordons: Cordons = None,
        *,
        record: Annotated[
            bool, QueryParameter(description="Keep it in the list of simulations")
        ] = False,
        title: Title = "",
    ) -> Answer:
        """Objects as `/v1/apply` takes them; with `at` the simulation begins in the past.

        Real rules and real cycles on a fork of the state; nothing is written to the log.
        """
        asked = SimulationRequest(body, deletions, priorities, cordons, title if record else None)
        return await simulate(request, asked)


class SimulationRequest(NamedTuple):
    """What is to be tried, as it was written."""

    body: bytes
    deletions: str | None = None
    priorities: str | None = None
    cordons: str | None = None
    title: str | None = None
    """Of the record that is kept; None for none."""


async def simulate(request: Caller, asked: SimulationRequest) -> Answer:
    """What would happen if all of it were done, one after the other.

    As every simulation here it is cancelled when its client has gone.
    """
    return await while_connected(request, _simulate(request, asked))


async def simulate_submit(request: Caller, body: bytes) -> Answer:
    """What would become of the workload of a body if it were submitted now."""
    wanted, desired = await read_wanted(request, body, "Workload")
    return await simulated(
        request, [submission(services_of(request), wanted, request.user)], desired
    )


async def simulated(
    request: Caller, changes: Sequence[StreamCommand], desired: Desired | None
) -> Answer:
    """The answer to what changes would lead to; `desired` is the one object behind them, if any."""
    return await while_connected(request, _simulated(request, changes, desired))


async def _simulate(request: Caller, asked: SimulationRequest) -> Answer:
    services = services_of(request)
    # What is changed may have been written only just before.
    await catch_up(services)
    order = _order(request, asked)
    entries = await entries_of(request, asked.body)
    changes = [
        *await run_yielding(each(_change_of(request, entry) for entry in entries)),
        *await _other_changes(request, services, asked),
    ]
    if not changes:
        remedy = "Send objects, or name what to delete, to cordon or to give another priority."
        raise ApiFailure(INVALID_REQUEST, "There is nothing to simulate.", remedy=remedy)
    desired = entries[0].desired if len(changes) == len(entries) == 1 else None
    found = await _foreseen(request, changes, desired)
    if order is not None:
        present: ApplicationServices = request.app.state.services
        found = await record_simulation(present, order, changes, found, services.clock.now())
    for tried in (changes, entries):
        await run_yielding(drop(tried))
    return await _answer(found)


def _order(request: Caller, asked: SimulationRequest) -> SimulationOrder | None:
    if asked.title is None:
        return None
    order = SimulationOrder(
        title=asked.title,
        documents=asked.body.decode(errors="replace"),
        others=OtherChanges(
            delete=asked.deletions or "",
            priority=asked.priorities or "",
            cordon=asked.cordons or "",
        ),
        actor=origin_of(request).actor,
    )
    order.raise_if_too_large()
    return order


async def _simulated(
    request: Caller, changes: Sequence[StreamCommand], desired: Desired | None
) -> Answer:
    await catch_up(services_of(request))
    return await _answer(await _foreseen(request, changes, desired))


async def _foreseen(
    request: Caller, changes: Sequence[StreamCommand], desired: Desired | None
) -> SimulationView:
    viewer = Viewer(request.user.namespaces, rendered_admission)
    try:
        return await foresee(services_of(request), changes, viewer)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) if desired else rejection from rejection


async def _answer(view: SimulationView) -> Answer:
    content = msgspec.structs.replace(
        view, workloads=await encoded(view.workloads), effects=await encoded(view.effects)
    )
    return answer(content, position=view.as_of.position)


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
    return change_to(services_of(request), _tried_as(request.user, entry.wanted), entry.wanted)


def _tried_as(user: Identity, wanted: DesiredObject) -> Identity:
    """The identity that a change is simulated with: the user, or an admin where the user may not.

    A change that is not written needs no right; what the user may submit is bounded as always.
    """
    right = SUBMIT_WORKLOADS
    if wanted.kind != "workload":
        right = Right("configure", KINDS_BY_STREAM[wanted.kind].path)
    may_write = user.may(right, namespace=wanted.namespace)
    return user if may_write else replace(user, grants=ADMIN.grants)


async def _other_changes(
    request: Caller, services: ApplicationServices, asked: SimulationRequest
) -> list[StreamCommand]:
    changes = []
    for stream in listed(asked.deletions):
        await _need(request, stream, "/delete")
        changes.append(deletion(services, stream))
    for text in listed(asked.priorities):
        key, _, number = text.rpartition(":")
        size = whole_number(number.removeprefix("-"))
        if not key or size is None:
            raise InvalidRequest.at("/priority", "PriorityChangeUnreadable", value=shown(text))
        await _need(request, f"workload/{key}", "/priority")
        changes.append(new_priority(services, key, int(number)))
    for node in listed(asked.cordons):
        await _need(request, f"node/{node}", "/cordon")
        changes.append(cordoning(node))
    return changes


async def _need(request: Caller, stream: str, pointer: str) -> None:
    """What is to be changed must be there, and be the caller's to see."""
    kind, _, key = stream.partition("/")
    if not key:
        raise InvalidRequest.at(pointer, "NotStreamName", value=shown(stream))
    if kind == "workload":
        require_namespace(request.user, key.partition("/")[0])
    services = services_of(request)
    is_known = services.reader.cluster_state.version_of(stream) > 0
    if not is_known and kind == "workload":
        (loaded,) = await asyncio.to_thread(services.models.load, [stream])
        is_known = not isinstance(loaded.state, Absent)
    if not is_known or not allows(request.user.namespaces, stream):
        raise NotFound("ObjectNotFound", kind=kind, name=key)
