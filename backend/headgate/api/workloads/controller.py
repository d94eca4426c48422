"""Submit, list, read, change, delete and explain workloads."""

from typing import Annotated, Literal

from litestar import Controller, delete, get, post, put
from litestar.params import PathParameter, QueryParameter, RawBody

from headgate.adapters.manifests.render import V1BETA2, KueueVersion
from headgate.api.answers import Answer, expected_version, response
from headgate.api.bodies import EXAMPLE_WORKLOAD, request_body
from headgate.api.callers import Caller
from headgate.api.parameters import (
    Continue,
    IdempotencyHeader,
    IfMatch,
    IfNoneMatch,
    Limit,
    Owner,
    Reason,
    Selector,
    SubmitDryRun,
)
from headgate.api.simulations import simulate_submit
from headgate.api.workloads.changes import Target, delete_workload, replace, submit, submit_batch
from headgate.api.workloads.queries import (
    ListParameters,
    explanation,
    list_workloads,
    read,
    timeline,
)
from headgate.api.workloads.schemas import (
    SubmitOutcomes,
    WorkloadBatch,
    WorkloadList,
    WorkloadObject,
    WrittenWorkload,
)
from headgate.application.queries.explanations import (
    MAX_REASONS,
    ExplanationView,
)
from headgate.application.queries.timelines import Timeline

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
Phases = Annotated[
    str | None,
    QueryParameter(
        name="phase",
        description=(
            "Phases to show, separated by commas; `Unschedulable` for pending workloads that can"
            " never start"
        ),
    ),
]
QueueName = Annotated[
    str | None, QueryParameter(name="queueName", description="A LocalQueue's name")
]
ClusterQueueName = Annotated[str | None, QueryParameter(name="clusterQueue")]
Contains = Annotated[
    str | None, QueryParameter(name="name", description="A part of the workload's name")
]
Reasons = Annotated[
    int,
    QueryParameter(
        name="history",
        ge=0,
        le=MAX_REASONS,
        description="How many of the reasons it was given last; the timeline tells all",
    ),
]
Version = Annotated[
    KueueVersion,
    QueryParameter(
        name="apiVersion",
        description=(
            "The version of Kueue's API to answer in; v1beta1 writes each domain of a topology"
            " assignment, v1beta2 slices"
        ),
    ),
]
TimelineDetail = Annotated[
    Literal["Brief", "Whole"],
    QueryParameter(
        name="data",
        description=(
            "`Whole`: every field of every event; `Brief`: without the constraints and the "
            "hosts, which the explanation and the workload tell `at` the position of the entry"
        ),
    ),
]


class AllWorkloads(Controller):
    """Workloads of all namespaces."""

    path = "/"
    tags = ["Workload"]
    opt = {"right": "read workloads"}

    @get(
        "/workloads",
        operation_id="listAllWorkloads",
        summary="List workloads of all namespaces one may see, newest first",
        responses=response(WorkloadList),
    )
    async def list_everywhere(
        self,
        request: Caller,
        limit: Limit = 100,
        after: Continue = None,
        selector: Selector = None,
        phases: Phases = None,
        queue_name: QueueName = None,
        cluster_queue: ClusterQueueName = None,
        contains: Contains = None,
        owner: Owner = None,
        version: Version = V1BETA2,
    ) -> Answer:
        """Filters are combined; labels may be compared for equality and more."""
        wanted = ListParameters(phases, queue_name, cluster_queue, contains, selector, owner)
        return await list_workloads(request, wanted, limit=limit, after=after, version=version)

    @post(
        "/workloads:batch",
        operation_id="submitWorkloads",
        summary="Submit many workloads at once",
        status_code=200,
        operation_class=request_body(WorkloadBatch),
        responses=response(SubmitOutcomes),
        opt={"right": "submit workloads"},
    )
    async def submit_batch(
        self, request: Caller, body: RawBody, idempotency_key: IdempotencyHeader = None
    ) -> Answer:
        """Each is decided individually: 200 if all were taken, 207 if some, 422 if none."""
        return await submit_batch(request, body, idempotency_key)


class Workloads(Controller):
    """Workloads of one namespace."""

    path = "/namespaces/{namespace:str}/workloads"
    tags = ["Workload"]
    opt = {"right": "read workloads"}

    @get(
        operation_id="listWorkloads",
        summary="List workloads of a namespace, newest first",
        responses=response(WorkloadList),
    )
    async def list_here(
        self,
        request: Caller,
        limit: Limit = 100,
        after: Continue = None,
        selector: Selector = None,
        phases: Phases = None,
        queue_name: QueueName = None,
        cluster_queue: ClusterQueueName = None,
        contains: Contains = None,
        owner: Owner = None,
        version: Version = V1BETA2,
    ) -> Answer:
        """Filters are combined; labels may be compared for equality and more."""
        wanted = ListParameters(phases, queue_name, cluster_queue, contains, selector, owner)
        return await list_workloads(request, wanted, limit=limit, after=after, version=version)

    @post(
        operation_id="submitWorkload",
        summary="Submit a workload",
        operation_class=request_body(WorkloadObject, example=EXAMPLE_WORKLOAD),
        responses=response(WrittenWorkload, status=201),
        opt={"right": "submit workloads"},
    )
    async def submit(
        self,
        request: Caller,
        body: RawBody,
        idempotency_key: IdempotencyHeader = None,
        dry_run: SubmitDryRun = None,
    ) -> Answer:
        """It is in the log when the answer comes; whether it finds a place shows in its status."""
        if dry_run == "Admission":
            return await simulate_submit(request, body)
        return await submit(request, body, idempotency_key, dry_run=bool(dry_run))

    @get(
        "/{name:str}",
        operation_id="getWorkload",
        summary="Read a workload",
        responses=response(WorkloadObject),
    )
    async def read(
        self,
        request: Caller,
        name: Name,
        if_none_match: IfNoneMatch = None,
        version: Version = V1BETA2,
    ) -> Answer:
        """The workload as it stands, with its phase and conditions."""
        return await read(request, name, if_none_match, version)

    @put(
        "/{name:str}",
        operation_id="replaceWorkload",
        summary="Change a workload",
        operation_class=request_body(WorkloadObject),
        responses=response(WrittenWorkload),
        opt={"right": "submit workloads"},
    )
    async def replace(
        self,
        request: Caller,
        name: Name,
        body: RawBody,
        if_match: IfMatch = None,
        dry_run: SubmitDryRun = None,
        reason: Reason = "",
    ) -> Answer:
        """What may be changed depends on its stage."""
        expected = expected_version(if_match, required=True)
        target = Target(name, expected, reason, dry_run)
        return await replace(request, target, body)

    @delete(
        "/{name:str}",
        operation_id="deleteWorkload",
        summary="Delete a workload; one that runs goes once it has stopped",
        status_code=200,
        responses=response(WorkloadObject),
        opt={"right": "submit workloads"},
    )
    async def delete(
        self,
        request: Caller,
        name: Name,
        if_match: IfMatch = None,
        dry_run: SubmitDryRun = None,
        reason: Reason = "",
    ) -> Answer:
        """Answers with the workload as it was last."""
        target = Target(name, expected_version(if_match), reason, dry_run)
        return await delete_workload(request, target)

    @get(
        "/{name:str}/explanation",
        operation_id="explainWorkload",
        summary="Pending reason, and how to unblock",
        responses=response(ExplanationView),
    )
    async def explanation(
        self, request: Caller, name: Name, history: Reasons = MAX_REASONS
    ) -> Answer:
        """Recorded by the scheduler, or derived where it had no need to look."""
        return await explanation(request, name, history)

    @get(
        "/{name:str}/timeline",
        operation_id="readTimeline",
        summary="What happened to it, newest first",
        responses=response(Timeline),
    )
    async def timeline(
        self,
        request: Caller,
        name: Name,
        limit: Limit = 100,
        after: Continue = None,
        detail: TimelineDetail = "Brief",
    ) -> Answer:
        """One entry for each event of its stream."""
        return await timeline(request, name, limit=limit, after=after, detail=detail)
