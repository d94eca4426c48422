"""States as manifests: Kueue's shape, canonical quantities, status and conditions."""

from typing import Any

from headgate.adapters.manifests.codec import Extras
from headgate.adapters.manifests.metadata import rendered_head
from headgate.adapters.manifests.registry import CODECS_BY_NAME, version_written
from headgate.adapters.manifests.workload import workload_body
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.workloads.state import Workload


def render(
    kind: str, state: Configured[Any] | Workload, position: int, extras: Extras | None = None
) -> dict[str, Any]:
    """The object as a manifest; `kind` as in manifests, `position` of its last change."""
    known = extras or Extras()
    if isinstance(state, Workload):
        body = workload_body(state, known)
    else:
        body = CODECS_BY_NAME[kind].render(state, known)
    return {**rendered_head(version_written(kind), kind, state, position), **body}
