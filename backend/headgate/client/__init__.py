"""A typed client of Headgate's REST API and event stream, for programs outside the server."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # So that programs are checked with the types of what is imported late.
    from headgate.client.client import HeadgateClient
    from headgate.client.pods import CommandEnd, PodOutput, PodView, SessionLost
    from headgate.client.schemas import Event, SimulatedWorkload, SimulationResult, WorkloadView
    from headgate.client.transport import Connection, Problem, ServerProblem, ServerUnreachable
    from headgate.client.workloads import (
        AsyncHeadgate,
        EndedRun,
        Headgate,
        WaitTimeout,
        local_connection,
        manifest_of,
    )

PLACES = {
    "AsyncHeadgate": "workloads",
    "CommandEnd": "pods",
    "Connection": "transport",
    "EndedRun": "workloads",
    "Event": "schemas",
    "Headgate": "workloads",
    "HeadgateClient": "client",
    "PodOutput": "pods",
    "PodView": "pods",
    "Problem": "transport",
    "ServerProblem": "transport",
    "ServerUnreachable": "transport",
    "SessionLost": "pods",
    "SimulatedWorkload": "schemas",
    "SimulationResult": "schemas",
    "WaitTimeout": "workloads",
    "WorkloadView": "schemas",
    "local_connection": "workloads",
    "manifest_of": "workloads",
}
"""What programs use, and the module of each; it is imported when it is asked for."""

__all__ = [
    "AsyncHeadgate",
    "CommandEnd",
    "Connection",
    "EndedRun",
    "Event",
    "Headgate",
    "HeadgateClient",
    "PodOutput",
    "PodView",
    "Problem",
    "ServerProblem",
    "ServerUnreachable",
    "SessionLost",
    "SimulatedWorkload",
    "SimulationResult",
    "WaitTimeout",
    "WorkloadView",
    "local_connection",
    "manifest_of",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - of any type
        if name not in PLACES:
            raise AttributeError(f"module 'headgate.client' has no attribute {name!r}")
        return getattr(import_module(f"headgate.client.{PLACES[name]}"), name)
