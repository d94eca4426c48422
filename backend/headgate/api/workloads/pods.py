"""The pods of a workload by attempt (docs/executors/protocol.md)."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, Schema
from headgate.api.callers import Caller, services_of
from headgate.api.pages import Continue, Limit, after_token, continue_token
from headgate.api.parameters import listed
from headgate.api.workloads.queries import loaded_workload
from headgate.application.projections.workload_pods import PodFilter, PodPlace, PodState
from headgate.application.queries.workloads.pods import AttemptSummary, PodView, pods_of_attempt
from headgate.domain.field_rules import shown
from headgate.domain.rejection import InvalidRequest

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
STATES: tuple[PodState, ...] = get_args(PodState)


class WorkloadPodPage(Schema, kw_only=True, frozen=True):
    """Pods of one attempt of a workload as of `position`, by pod set, index and run.

    The first page has the counts of all attempts.
    """

    position: Position
    attempt: int
    attempts: list[AttemptSummary]
    items: list[PodView]
    continue_: str | None = msgspec.field(default=None, name="continue")


class PageStart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a page begins; all pages are of the attempt that the first one found newest."""

    attempt: int
    after: PodPlace


class WorkloadPods(Controller):
    """Pods of a workload."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}"
    tags = ["Workloads"]

    @get(
        "/pods",
        operation_id="listPods",
        summary="The pods of one attempt of a workload",
        responses=response(WorkloadPodPage),
        opt={"right": "read workloads"},
    )
    async def pods(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        attempt: Annotated[
            int | None, QueryParameter(ge=0, description="Of this attempt; else of the newest")
        ] = None,
        pod_set: Annotated[str, QueryParameter(name="podSet", max_length=253)] = "",
        states: Annotated[
            str,
            QueryParameter(name="state", description="Only in these states, separated by commas"),
        ] = "",
        node: Annotated[str, QueryParameter(description="Only on this node", max_length=253)] = "",
        runs: Annotated[
            Literal["newest", "all"], QueryParameter(description="The newest run of each, or all")
        ] = "newest",
        limit: Limit = 500,
        after: Continue = None,
    ) -> Answer:
        """As their executors reported them; of each pod the newest run, or all runs."""
        key = f"{namespace}/{name}"
        await loaded_workload(request, name)
        question = f"pods|{key}|{attempt}|{pod_set}|{states}|{node}|{runs}"
        token = after_token(after, question, PageStart)
        query = PodFilter(
            workload=key,
            attempt=attempt if token is None else token.attempt,
            pod_set=pod_set,
            states=_states(states),
            node=node,
            all_runs=runs == "all",
            after=None if token is None else token.after,
            limit=limit,
        )
        found = await pods_of_attempt(services_of(request), query)
        body: dict[str, Any] = {
            "position": found.position,
            "attempt": found.attempt,
            "attempts": found.attempts,
            "items": found.pods,
        }
        if found.following is not None:
            start = PageStart(attempt=found.attempt, after=found.following)
            body["continue"] = continue_token(start, question)
        return answer(body, position=found.position)


def _states(text: str) -> tuple[PodState, ...]:
    try:
        return msgspec.convert(listed(text), tuple[PodState, ...])
    except msgspec.ValidationError:
        raise InvalidRequest.at("/state", "NotOneOf", value=shown(text), choices=STATES) from None
