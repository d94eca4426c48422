"""What happened since the process began, under Kueue's names: by ClusterQueue and by LocalQueue."""

from collections import Counter
from collections.abc import Iterator, Mapping

from headgate.application.metrics.histograms import Histogram, histogram_lines
from headgate.application.metrics.lines import Labels, written
from headgate.application.metrics.tally import Place, Tally, Why
from headgate.application.metrics.waits import UNTIL

NO_REASON = Why("", "")


def counted_lines(tally: Tally) -> Iterator[str]:
    """Every count of the tally."""
    for name, text, counts in (
        ("quota_reserved_workloads_total", "Reservations of quota", tally.reserved),
        ("admitted_workloads_total", "Admissions", tally.admitted),
        ("finished_workloads_total", "Workloads that ended", tally.finished),
        ("replaced_workload_slices_total", "Slices that others took over", tally.replaced),
    ):
        unlabelled = {(place, NO_REASON): n for place, n in counts.items() if n}
        yield from _counted(name, text, unlabelled)
    yield from _counted("evicted_workloads_total", "Evictions", tally.evicted)
    once = "Workloads evicted for the first time for their reason and cause"
    yield from _counted("evicted_workloads_once_total", once, tally.evicted_once)
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
    for figure, text in UNTIL.items():
        waited = tally.waited[figure]
        for prefix, part, named in (("", 0, _cluster_queue), ("local_queue_", 1, _local_queue)):
            found = sorted((named(place), waits) for place, waits in _merged(waited, part))
            samples = ((dict(labels), waits) for labels, waits in found)
            yield from histogram_lines(f"kueue_{prefix}{figure}", text, samples)


def local_queue_labels(key: str) -> Labels:
    """The labels of a LocalQueue (`namespace/name`), as Kueue has them."""
    namespace, _, name = key.partition("/")
    return {"name": name, "namespace": namespace}


Named = tuple[tuple[str, str], ...]
"""Labels that can be a key."""


def _counted(name: str, text: str, counts: Mapping[tuple[Place, Why], int]) -> Iterator[str]:
    """Counts by ClusterQueue and by LocalQueue, with reason and cause where there are any."""
    for prefix, named in (("", _cluster_queue), ("local_queue_", _local_queue)):
        sums: Counter[Named] = Counter()
        for (place, why), number in counts.items():
            reason = ((key, word) for key, word in why._asdict().items() if word)
            sums[(*named(place), *reason)] += number
        told = f"{text} since the process began"
        samples = [(dict(labels), number) for labels, number in sorted(sums.items())]
        yield from written(f"kueue_{prefix}{name}", "counter", told, samples)


def _cluster_queue(place: Place) -> Named:
    return (("cluster_queue", place.cluster_queue),)


def _local_queue(place: Place) -> Named:
    return tuple(local_queue_labels(place.local_queue).items())


def _merged(waited: Mapping[Place, Histogram], part: int) -> list[tuple[Place, Histogram]]:
    """The waits of all places that are the same in one part of their names."""
    found: dict[str, tuple[Place, Histogram]] = {}
    for place, waits in sorted(waited.items()):
        _, total = found.setdefault(place[part], (place, Histogram(waits.bounds)))
        total.merge(waits)
    return list(found.values())
