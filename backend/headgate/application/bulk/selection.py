"""Which workloads a bulk action is about: a query, or names from a preview."""

import msgspec

from headgate.application.access.redaction import NamespaceScope
from headgate.application.cooperative import Cooperative
from headgate.domain.cell import Cell
from headgate.domain.scheduling.lines.standing import cluster_queue_of
from headgate.domain.scheduling.matching import matches_selector
from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.views.clinic import case_of
from headgate.domain.workloads.state import Phase, Workload, phase_of


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Every condition must hold; empty ones hold always.

    `causes` are those of the clinic; `since` asks for who has been in that state from then on.
    """

    namespace: str = ""
    phases: tuple[Phase, ...] = ()
    queue_name: str = ""
    cluster_queue: str = ""
    name: str = ""
    causes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    since: Instant | None = None


def selected(
    cell: Cell, query: Query, scope: NamespaceScope, at: Instant
) -> Cooperative[list[Workload]]:
    """Those that match now and may be seen, by key; in steps, as all are looked at."""
    found = []
    for workload in tuple(cell.workloads.values()):
        is_seen = scope is None or workload.namespace in scope
        if is_seen and _matches(cell, query, workload, at):
            found.append(workload)
        yield
    return sorted(found, key=lambda workload: workload.key)


def _matches(cell: Cell, query: Query, workload: Workload, at: Instant) -> bool:
    return (
        query.namespace in {"", workload.namespace}
        and query.queue_name in {"", workload.spec.queue_name}
        and query.name in workload.name
        and (not query.phases or phase_of(workload) in query.phases)
        and query.cluster_queue in {"", cluster_queue_of(cell.config, workload)}
        and (query.selector is None or matches_selector(workload.labels, query.selector))
        and _has_case(cell, query, workload, at)
    )


def _has_case(cell: Cell, query: Query, workload: Workload, at: Instant) -> bool:
    if not query.causes and query.since is None:
        return True
    case = case_of(cell, workload, at)
    if case is None or (query.causes and case.cause not in query.causes):
        return False
    return query.since is None or (case.since or 0) >= query.since
