"""What may have been meant by the name in an address of a command or a derived read."""

from itertools import pairwise
from typing import Any

from litestar import Request, Response

from headgate.api.callers import services_of
from headgate.api.problems import NOT_FOUND, answer_failure
from headgate.application.queries.did_you_mean import did_you_mean
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS
from headgate.domain.rejection import NotFound
from headgate.domain.streams import stream_of

STREAM_KINDS = {
    "workloads": ("workload", True),
    **{kind.path: (kind.stream_kind, kind.is_namespaced) for kind in KINDS},
}
"""Kinds as paths name them: their name in streams, and whether they live in a namespace."""


def no_such_object(request: Request[Any, Any, Any], failure: Exception) -> Response[Any]:
    """The problem, with the nearest name that the caller may see in its remedy."""
    assert isinstance(failure, NotFound), "it is registered for nothing else"
    stream = _stream_in(request)
    cluster_state = services_of(request).reader.cluster_state
    hint = did_you_mean(cluster_state, stream, request.user.namespaces) if stream else ""
    if hint:
        failure = NotFound(failure.detail, remedy=f"{hint} {failure.remedy or NOT_FOUND.remedy}")
    return answer_failure(request, failure)


def _stream_in(request: Request[Any, Any, Any]) -> str:
    """The object that an address is about; empty where it names none, or one that exists."""
    name, namespace = (str(request.path_params.get(part, "")) for part in ("name", "namespace"))
    steps = pairwise(request.url.path.split("/"))
    found = [STREAM_KINDS[kind] for kind, step in steps if step == name and kind in STREAM_KINDS]
    if not found:
        return ""
    kind, is_namespaced = found[-1]
    stream = stream_of(kind, name, namespace if is_namespaced else "")
    state = services_of(request).reader.cluster_state.state_of(stream)
    return stream if isinstance(state, Absent) else ""
