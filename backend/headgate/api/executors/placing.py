"""Which pod of a workload goes where, answered from the fold; nothing is recorded."""

import asyncio

from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, services_of
from headgate.api.executors.schemas import ObservedPod, ObservedPods
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.decide.preconditions import require_same_uid
from headgate.domain.workloads.pods.pod_ranks import ExecutorPod, assign_ranks


async def pod_places(request: Caller, workload: str, data: ObservedPods) -> Answer:
    """The places of the waiting pods that can have one now."""
    models = services_of(request).models
    (loaded,) = await asyncio.to_thread(models.load, [workload_stream(workload)])
    state = require_same_uid(loaded.state, data.uid)
    found = assign_ranks(state, data.pod_set, [_pod(seen) for seen in data.pods])
    places = [
        {"pod": place.pod, "nodeSelector": dict(zip(place.levels, place.values, strict=True))}
        for place in found
    ]
    return answer({"position": loaded.position, "places": places}, position=loaded.position)


def _pod(seen: ObservedPod) -> ExecutorPod:
    return ExecutorPod(
        name=seen.name,
        labels=seen.labels,
        annotations=seen.annotations,
        values=tuple(seen.values),
        has_ended=seen.has_ended,
    )
