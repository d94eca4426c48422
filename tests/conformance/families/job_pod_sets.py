"""The pod sets of a Job, and its pods once it may start (`pkg/controller/jobs/job`)."""

from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.adapters.manifests.parse import Refused, parse_value
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdateConflict, merged_updates
from headgate.domain.workloads.specs import PodSet, WorkloadSpec
from tests.conformance.cases import Case
from tests.conformance.comparison import differences
from tests.conformance.families.family import Family
from tests.conformance.families.reports import updates_in
from tests.conformance.installed import Unreadable, read

Given = dict[str, Any]

WITHOUT_TOPOLOGIES = "TopologyAwareScheduling=false"
SLICE_NAME = "kueue.x-k8s.io/workload-slice-name"
"""What Kueue writes into pods of an elastic job; here the executor names the attempt."""


def pod_sets(case: Case) -> Iterator[str]:
    """The pod sets that a Job becomes, with counts, topology requests and templates."""
    wanted = case.want["wantPodSets"] or []
    # The webhook of Jobs refuses some annotations before Kueue makes pod sets of them.
    spec = read("Workload", {"metadata": {"name": "wl"}, "spec": {"podSets": wanted}}).spec
    found = _spec_of(case.mapped("job"))
    yield from differences("podSets", _shown(spec), _shown(found))


def started_pods(case: Case) -> Iterator[str]:
    """The pods of a Job that starts: their number and what checks add to them."""
    job = case.mapped("job")
    wanted = case.want["wantUnsuspended"]["spec"]
    (pod_set,) = _spec_of(job).pod_sets
    (info,) = case.listed("runInfo")
    told = {name: part for name, part in info.items() if name != "count"}
    update = {"podSetUpdates": [{"name": pod_set.name, **told}]}
    try:
        merged = merged_updates((pod_set,), {"check": updates_in(update)})
    except PodSetUpdateConflict:
        yield from differences("refused", case.want["wantRunError"] is not None, True)
        return
    yield from differences("refused", case.want["wantRunError"] is not None, False)
    count = info.get("count", pod_set.count)
    is_possible = (pod_set.min_count or pod_set.count) <= count <= pod_set.count
    yield from differences("may start with so many", True, is_possible)
    yield from differences("count", wanted.get("parallelism", 1), count)
    metadata = (wanted.get("template") or {}).get("metadata") or {}
    before = pod_set.template.get("metadata") or {}
    for part in ("labels", "annotations"):
        found = dict(before.get(part) or {})
        for each in merged:
            found.update(getattr(each, part))
        yield from differences(part, metadata.get(part) or {}, found)


def _spec_of(job: Given) -> WorkloadSpec:
    """What the product makes of a Job as Kueue's builder writes it."""
    metadata = {name: job[name] for name in ("name", "namespace", "annotations") if name in job}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job["spec"]}
    found = parse_value(manifest, namespace="default")
    if isinstance(found, Refused):
        broken = ", ".join(violation.pointer for violation in found.problem.violations)
        raise Unreadable(f"the Job is refused: {broken}")
    spec: WorkloadSpec = found.spec
    return spec


def _shown(spec: WorkloadSpec) -> list[Given]:
    return [_parts(pod_set) for pod_set in spec.pod_sets]


def _parts(pod_set: PodSet) -> Given:
    """What is compared of a pod set; where its template was written does not count."""
    return {
        "name": pod_set.name,
        "count": pod_set.count,
        "minCount": pod_set.min_count,
        "topologyRequest": msgspec.to_builtins(pod_set.topology_request),
        "scheduling": msgspec.to_builtins(pod_set.scheduling),
        "template": pod_set.template,
    }


def _asks_for_no_topology(case: Case, gate: str) -> bool:
    """Gates of topologies are without effect on pods that ask for none."""
    template = (case.mapped("job").get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    is_of_topologies = gate.startswith("TAS") or gate == WITHOUT_TOPOLOGIES
    return is_of_topologies and not any("topology" in name for name in annotations)


FAMILIES = {
    "TestPodSets": Family(pod_sets, _asks_for_no_topology),
    "TestPodSetsInfo": Family(
        started_pods,
        unread={"inputs.restoreInfo": "the submitted template is kept and never changed"},
    ),
}
