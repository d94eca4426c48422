"""The whole pod templates of workloads, as executors start pods from them."""

from collections.abc import Iterable
from typing import Any

import msgspec

from headgate.application.ports import ReadModels
from headgate.domain.workloads.pods.limit_ranges import completed_template
from headgate.domain.workloads.pods.templates import whole_template
from headgate.domain.workloads.state import Workload


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The template of one pod set, whole, with what LimitRanges and a RuntimeClass added.

    `digest` is that of the template as submitted, empty where the event has it whole. Of one that
    `is_erased` only the part that rules read is left: no pod can be started from it.
    """

    digest: str
    template: dict[str, Any]
    is_erased: bool = False


def pod_templates(
    models: ReadModels, workloads: Iterable[Workload]
) -> dict[str, dict[str, PodTemplate]]:
    """The template of every pod set, by key of the workload and name of the pod set.

    One read of the store, whatever the number of workloads; templates that are equal are read once.
    Blocking: on the event loop call it as
    `await asyncio.to_thread(pod_templates, services.models, workloads)`. A template of a digest
    never changes but by erasure, so that an executor need not ask again. Secrets stand in it as
    references (`secretKeyRef`) and are resolved by executors alone.
    """
    asked = tuple(workloads)
    digests = {pod_set.written for each in asked for pod_set in each.spec.pod_sets} - {""}
    kept = models.written(digests) if digests else {}
    written = {digest: msgspec.json.decode(body) for digest, body in kept.items()}
    return {
        workload.key: {
            pod_set.name: PodTemplate(
                digest=pod_set.written,
                template=(
                    whole_template(written[pod_set.written], completed_template(pod_set))
                    if pod_set.written in written
                    else completed_template(pod_set)
                ),
                is_erased=bool(pod_set.written) and pod_set.written not in written,
            )
            for pod_set in workload.spec.pod_sets
        }
        for workload in asked
    }
