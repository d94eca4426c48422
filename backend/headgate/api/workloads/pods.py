"""The pods of a workload by attempt (docs/executors/protocol.md)."""

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.api.answers import Answer, answer, response
from headgate.api.callers import Caller, services_of
from headgate.api.pages import Continue, Limit, after_token, continue_token
from headgate.api.schemas import Position, Schema
from headgate.application.queries.workloads.pods import (
    AttemptView,
    PodQuery,
    PodView,
    pods_of_attempt,
)
from headgate.domain.streams import workload_stream

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]


class WorkloadPodPage(Schema, kw_only=True, frozen=True):
    """Pods of one attempt of a workload, by pod set and index; `attempts` is its newest attempt."""

    position: Position
    attempt: int
    attempts: int
    items: list[PodView]
    continue_: str | None = msgspec.field(default=None, name="continue")


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
        attempt: Annotated[int | None, QueryParameter(ge=0)] = None,
        pod_set: Annotated[str, QueryParameter(name="podSet")] = "",
        runs: Annotated[Literal["newest", "all"], QueryParameter()] = "newest",
        limit: Limit = 500,
        after: Continue = None,
    ) -> Answer:
        """As their executors reported them; of each pod the newest run, or all runs."""
        services, key = services_of(request), f"{namespace}/{name}"
        query = PodQuery(attempt=attempt, pod_set=pod_set, all_runs=runs == "all")
        position = services.reader.position

        def read() -> AttemptView:
            return pods_of_attempt(services.log.read_stream(workload_stream(key)), query)

        found = await asyncio.to_thread(read)
        question = f"pods|{key}|{found.attempt}|{pod_set}|{runs}"
        start = after_token(after, question, int) or 0
        body: dict[str, Any] = {
            "position": position,
            "attempt": found.attempt,
            "attempts": found.attempts,
            "items": found.pods[start : start + limit],
        }
        if start + limit < len(found.pods):
            body["continue"] = continue_token(start + limit, question)
        return answer(body, position=position)
