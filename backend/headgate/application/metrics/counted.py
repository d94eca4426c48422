"""What happened since the process began, under Kueue's names: by ClusterQueue and by LocalQueue."""

from collections.abc import Iterator, Mapping

from headgate.application.metrics.lines import Labels, Sample, headed, sampled, written
from headgate.application.metrics.tally import WAIT_BUCKETS, Place, Tally, Waits


def counted_lines(tally: Tally) -> Iterator[str]:
    """Every count of the tally."""
    for name, text, counts in (
        ("quota_reserved_workloads_total", "Reservations of quota", tally.reserved),
        ("admitted_workloads_total", "Admissions", tally.admitted),
        ("finished_workloads_total", "Workloads that ended", tally.finished),
    ):
        for prefix, samples in _by_queue({(place, ""): n for place, n in counts.items()}):
            told = f"{text} since the process began"
            yield from written(f"kueue_{prefix}{name}", "counter", told, samples)
    for prefix, samples in _by_queue(tally.evicted):
        name = f"kueue_{prefix}evicted_workloads_total"
        yield from written(name, "counter", "Evictions since the process began", samples)
    yield from written(
        "kueue_preempted_workloads_total",
        "counter",
        "Victims of preemption since the process began",
        [
            ({"preempting_cluster_queue": name, "reason": reason}, n)
            for (name, reason), n in sorted(tally.preempted.items())
        ],
    )
    yield from written(
        "kueue_admission_attempts_total",
        "counter",
        "Runs of cycles that decided anything, by whether they gave quota to anyone",
        [({"result": result}, n) for result, n in sorted(tally.attempts.items())],
    )
    yield from _waits("", {_cluster_queue(p): w for p, w in _merged(tally.waited, 0)})
    yield from _waits("local_queue_", {_local_queue(p): w for p, w in _merged(tally.waited, 1)})


def local_queue_labels(key: str) -> Labels:
    """The labels of a LocalQueue (`namespace/name`), as Kueue has them."""
    namespace, _, name = key.partition("/")
    return {"name": name, "namespace": namespace}


Named = tuple[tuple[str, str], ...]
"""Labels that can be a key."""


def _by_queue(counts: Mapping[tuple[Place, str], int]) -> Iterator[tuple[str, list[Sample]]]:
    """The counts by ClusterQueue and by LocalQueue, with the reason where there is one."""
    for prefix, named in (("", _cluster_queue), ("local_queue_", _local_queue)):
        sums: dict[Named, int] = {}
        for (place, reason), number in counts.items():
            key = (*named(place), *((("reason", reason),) if reason else ()))
            sums[key] = sums.get(key, 0) + number
        yield prefix, [(dict(key), number) for key, number in sorted(sums.items())]


def _cluster_queue(place: Place) -> Named:
    return (("cluster_queue", place.cluster_queue),)


def _local_queue(place: Place) -> Named:
    return tuple(local_queue_labels(place.local_queue).items())


def _merged(waited: Mapping[Place, Waits], part: int) -> list[tuple[Place, Waits]]:
    """The waits of all places that are the same in one part of their names."""
    found: dict[str, tuple[Place, Waits]] = {}
    for place, waits in sorted(waited.items()):
        _, total = found.setdefault(place[part], (place, Waits()))
        total.merge(waits)
    return list(found.values())


def _waits(prefix: str, waited: Mapping[Named, Waits]) -> Iterator[str]:
    name = f"kueue_{prefix}admission_wait_time_seconds"
    yield from headed(name, "histogram", "From creation or requeue to admission")
    for key, waits in sorted(waited.items()):
        labels = dict(key)
        for most, number in zip(WAIT_BUCKETS, waits.within, strict=True):
            yield sampled(f"{name}_bucket", {**labels, "le": str(most)}, number)
        yield sampled(f"{name}_bucket", {**labels, "le": "+Inf"}, waits.count)
        yield sampled(f"{name}_sum", labels, waits.total)
        yield sampled(f"{name}_count", labels, waits.count)
