"""Documents of a request as entries: the object each asks for, or why it is rejected."""

from collections.abc import Sequence
from typing import Any

import msgspec

from headgate.adapters.manifests.desired import Desired, Refused
from headgate.api.callers import Caller, require_namespace, services_of
from headgate.api.manifests import wanted_of, with_written_pointers
from headgate.api.problems import ApiFailure
from headgate.application.commands.requests import CommandResult, DesiredObject
from headgate.application.cooperative import Cooperative
from headgate.application.queries.overview.config_warnings import AdviceView
from headgate.application.queries.workloads.submission_warnings import warnings_about


class Entry(msgspec.Struct, frozen=True):
    """One item of a batch: what is wanted, or why it cannot even be tried."""

    kind: str
    namespace: str
    name: str
    wanted: DesiredObject | None = None
    desired: Desired | None = None
    failure: Exception | None = None


def warnings_of(
    request: Caller, entries: Sequence[Entry], results: Sequence[CommandResult]
) -> Cooperative[list[AdviceView]]:
    """What to tell of workloads that are taken and cannot start, at the places as written."""
    tried = (entry for entry in entries if entry.wanted is not None)
    written = [
        (changed, entry.desired.places if entry.desired else ())
        for entry, changed in zip(tried, results, strict=True)
    ]
    cluster_state = services_of(request).reader.cluster_state
    found = yield from warnings_about(cluster_state, written, request.user.namespaces)
    return found


def status_of(outcomes: Sequence[dict[str, Any]]) -> int:
    """200 if all went well, 422 if nothing did, 207 for what lies between."""
    refused = sum(outcome["outcome"] == "rejected" for outcome in outcomes)
    if not refused:
        return 200
    return 422 if refused == len(outcomes) else 207


def failure_of(entry: Entry, changed: CommandResult | None) -> Exception | None:
    """Why an entry was rejected, if it was, as its writer can read it."""
    failure = changed.failure if changed is not None else entry.failure
    if failure is None or entry.desired is None:
        return failure
    return with_written_pointers(failure, entry.desired)


def entry_of(request: Caller, found: Desired | Refused) -> Entry:
    """A parsed document as an entry; raises nothing."""
    if isinstance(found, Refused):
        return Entry(found.kind, found.namespace, found.name, failure=found.problem)
    try:
        if found.namespace:
            require_namespace(request.user, found.namespace)
    except ApiFailure as failure:
        return Entry(found.kind, found.namespace, found.name, failure=failure)
    wanted = wanted_of(services_of(request), found)
    return Entry(found.kind, found.namespace, wanted.name, wanted, found)
