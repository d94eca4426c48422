"""Labels and annotations of Kueue that nothing here reads; told, since most are misspelt."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from headgate.adapters.manifests.metadata import Metadata
from headgate.adapters.manifests.pod_templates import Template
from headgate.adapters.manifests.topology_requests import ANNOTATION_PLACES
from headgate.domain.workloads.pods.pod_ranks import INDEX_OFFSET
from headgate.domain.workloads.preemption_message import JOB_UID
from headgate.domain.workloads.specs import (
    ADMISSION_GATES,
    ALLOWED_FLAVORS,
    ELASTIC,
    PRIORITY_BOOST,
    REPLACES,
)

DOMAIN = "kueue.x-k8s.io/"
NAMED_IN_MANIFESTS = (
    "can-preempt",
    "job-min-parallelism",
    "max-exec-time-seconds",
    "preemptibility",
    "priority-class",
    "queue-name",
)
WRITTEN_BY_KUEUE = (
    "managed",
    "multikueue-origin",
    "podset",
    "tas",
    "workload",
    "workload-slice-name",
)
"""What Kueue adds to objects by itself, and what comes along with those taken from a cluster."""

READ = (
    *(DOMAIN + name for name in NAMED_IN_MANIFESTS),
    *(annotation for _, annotation in ANNOTATION_PLACES),
    *(ADMISSION_GATES, ALLOWED_FLAVORS, ELASTIC, INDEX_OFFSET, JOB_UID, PRIORITY_BOOST, REPLACES),
)
_SILENT = frozenset((*READ, *(DOMAIN + name for name in WRITTEN_BY_KUEUE)))


def ignored_settings(metadata: Metadata, templates: Sequence[Template]) -> tuple[str, ...]:
    """A sentence on each of them, on the object and on its pods, once."""
    found = (key for key in _keys(metadata, templates) if key.startswith(DOMAIN))
    return tuple(_told(key) for key in dict.fromkeys(found) if key not in _SILENT)


def _keys(metadata: Metadata, templates: Sequence[Template]) -> Iterator[str]:
    marks: tuple[Metadata | Template, ...] = (metadata, *templates)
    for marked in marks:
        yield from sorted({**marked.labels, **marked.annotations})


def _told(key: str) -> str:
    near = get_close_matches(key, READ, 1, cutoff=0.85)
    return f"{key} means nothing here{f'; did you mean {near[0]}?' if near else '.'}"
