"""The queue positions of pending workloads (`pkg/visibility/storage`)."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import at_once
from headgate.application.queries.queue_views import (
    PendingPageRequest,
    pending_in_cluster_queue,
    pending_in_local_queue,
)
from headgate.domain.rejection import NotFound
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.installed import Installed, read

COMPARED = ("localQueueName", "positionInClusterQueue", "positionInLocalQueue", "priority")


def pending(case: Case) -> Iterator[str]:
    """The line of a ClusterQueue, or of a LocalQueue where the request names a namespace."""
    installed = Installed()
    installed.add_setup(case.setup())
    installed.add("Cohort", *case.listed("cohorts"))
    installed.add("ClusterQueue", *case.listed("clusterQueues"))
    installed.add("LocalQueue", *case.listed("queues"))
    installed.add("Workload", *case.listed("workloads"))
    request, wanted = case.mapped("req"), case.want["wantResp"] or {}
    try:
        found = _asked(_serving(installed), request)
    except NotFound:
        yield from differences("error", wanted.get("wantErr") is not None, True)
        return
    yield from differences("error", wanted.get("wantErr") is not None, False)
    listed = wanted.get("wantPendingWorkloads") or ()
    yield from differences("items", [_shown(item) for item in listed], found)


def priority(case: Case) -> Iterator[str]:
    """The priority shown of a workload."""
    found = read("Workload", case.inputs["wl"]).spec.priority
    yield from differences("priority", case.want["wantPriority"], found)


def _asked(serving: ApplicationServices, request: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"offset": 0, "limit": 0, **(request.get("queryParams") or {})}
    stretch = PendingPageRequest(**asked)
    name = request.get("queueName", "")
    if "nsName" in request:
        steps = pending_in_local_queue(serving, f"{request['nsName']}/{name}", None, stretch)
    else:
        steps = pending_in_cluster_queue(serving, name, None, stretch)
    return [
        {
            "name": f"{item.metadata.namespace}/{item.metadata.name}",
            "localQueueName": item.local_queue_name,
            "positionInClusterQueue": item.position_in_cluster_queue,
            "positionInLocalQueue": item.position_in_local_queue,
            "priority": item.priority,
        }
        for item in at_once(steps).items
    ]


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    shown = {field: item.get(field, 0) for field in COMPARED}
    shown["localQueueName"] = item.get("localQueueName", "")
    return {"name": f"{metadata.get('namespace', '')}/{metadata['name']}", **shown}


def _serving(installed: Installed) -> ApplicationServices:
    """As much of an installation as the query reads."""
    reader = SimpleNamespace(
        cluster_state=installed.cluster_state, position=installed.cluster_state.position
    )
    clock = SimpleNamespace(now=lambda: installed.at)
    return cast(
        "ApplicationServices",
        SimpleNamespace(reader=reader, clock=clock),
    )


FAMILIES = {
    "TestPendingWorkloadsInCQ": Family(pending),
    "TestPendingWorkloadsInLQ": Family(pending),
    "TestNewPendingWorkloadPriority": Family(priority),
}
