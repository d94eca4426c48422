"""Queues that nobody can use: without flavors, without a door, or leading nowhere."""

from collections.abc import Iterator

from headgate.domain.lint.warnings import LintWarning
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.pointers import child


def queue_warnings(config: ObjectSet) -> Iterator[LintWarning]:
    """What is odd about ClusterQueues, LocalQueues and Cohorts apart from their amounts."""
    local_queues = {local.spec.cluster_queue for local in config.local_queues.values()}
    for name, queue in sorted(config.cluster_queues.items()):
        yield from _of_cluster_queue(config, name, has_local_queue=name in local_queues)
        if queue.spec.namespace_selector is None:
            yield LintWarning(
                kind="ClusterQueue",
                name=name,
                pointer="/spec/namespaceSelector",
                rule="QueueWithoutNamespaces",
                message="It takes work from no namespace: a missing selector selects nothing.",
                remedy="Set namespaceSelector to {} for all namespaces, or select some.",
            )
    for local in config.local_queues.values():
        if local.spec.cluster_queue not in config.cluster_queues:
            yield LintWarning(
                kind="LocalQueue",
                namespace=local.namespace,
                name=local.name,
                pointer="/spec/clusterQueue",
                rule="MissingReference",
                message=f"It leads to ClusterQueue {local.spec.cluster_queue}, which does not "
                "exist: nothing submitted to it can start.",
                remedy="Create the ClusterQueue, or delete the LocalQueue and make another.",
            )
    yield from _cohort_cycles(config)


def _of_cluster_queue(
    config: ObjectSet, name: str, *, has_local_queue: bool
) -> Iterator[LintWarning]:
    spec = config.cluster_queues[name].spec
    if not spec.resource_groups:
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer="/spec/resourceGroups",
            rule="QueueWithoutFlavors",
            message="It has no quota at all: whatever asks for a resource never starts in it.",
            remedy="Give it a resource group with a flavor.",
        )
    if not has_local_queue:
        yield LintWarning(
            kind="ClusterQueue",
            name=name,
            pointer="",
            rule="QueueWithoutLocalQueue",
            severity="note",
            message="No LocalQueue leads to it, so that nobody can submit to it.",
            remedy="Create a LocalQueue in each namespace that is to use it.",
        )
    for index, rule in enumerate(spec.admission_checks):
        if rule.name not in config.admission_checks:
            yield LintWarning(
                kind="ClusterQueue",
                name=name,
                pointer=child("/spec/admissionChecksStrategy/admissionChecks", index),
                rule="MissingReference",
                message=f"AdmissionCheck {rule.name} does not exist: the queue admits nothing.",
                remedy="Create the check, or remove it here.",
            )


def _cohort_cycles(config: ObjectSet) -> Iterator[LintWarning]:
    for name in sorted(config.cohorts):
        path = [name]
        above = config.cohorts[name].spec.parent_name
        while above and above in config.cohorts and above not in path:
            path.append(above)
            above = config.cohorts[above].spec.parent_name
        if above == name:
            yield LintWarning(
                kind="Cohort",
                name=name,
                pointer="/spec/parentName",
                rule="CohortCycle",
                message=f"It is above itself: {' in '.join((*path, name))}. No queue in such a "
                "circle admits anything.",
                remedy="Take one of them out of its parent.",
            )
