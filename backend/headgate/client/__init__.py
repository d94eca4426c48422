"""A typed client of Headgate's REST API and event stream, for programs outside the server."""

from importlib import import_module
from typing import Any

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

__all__ = [*PLACES]  # noqa: PLE0604 - all are names


def __getattr__(name: str) -> Any:  # noqa: ANN401 - of any type
    if name not in PLACES:
        raise AttributeError(f"module 'headgate.client' has no attribute {name!r}")
    return getattr(import_module(f"headgate.client.{PLACES[name]}"), name)
