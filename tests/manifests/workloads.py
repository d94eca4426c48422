"""Workload manifests of which a test names only what matters to it."""

from typing import Any

from headgate.domain.workloads.specs import WorkloadSpec
from tests.builders.workloads import a_template
from tests.manifests.readers import a_manifest, read

TEMPLATE = a_template()


def a_workload_manifest(
    pod_set: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A Workload of one pod set, which names what is given of it."""
    pod_sets = [{"template": TEMPLATE} | (pod_set or {})]
    return a_manifest("Workload", metadata=metadata or {}, spec={"podSets": pod_sets} | spec)


def spec_of(*args: Any, **spec: Any) -> WorkloadSpec:
    """The same as it is read."""
    found: WorkloadSpec = read(a_workload_manifest(*args, **spec)).spec
    return found
