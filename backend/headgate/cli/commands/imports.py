"""`import kueue`: take over what Kueue has, with all that runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.apply import code_of_results
from headgate.cli.failures import ExitCode, problem_in, tell_problem
from headgate.cli.kinds import kind_of, objects_in
from headgate.cli.options import DryRun, Reason, argument, client_of, documents_of, option
from headgate.cli.output import say, show
from headgate.cli.units import counted
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Advice, Batch, ItemResult
from headgate.domain.values.capabilities import JOB
from headgate.domain.values.quantities import NotAQuantity, amount_of, quantity_of

Object = dict[str, Any]

CONFIGURATION = (
    "Namespace", "Topology", "ResourceFlavor", "ProvisioningRequestConfig", "AdmissionCheck",
    "Cohort", "ClusterQueue",
    "LocalQueue", "WorkloadPriorityClass", "PriorityClass", "LimitRange", "RuntimeClass",
    "Configuration", "Node",
)  # fmt: skip
"""Kinds of configuration that are taken over, each after those that it refers to."""
JOB_KINDS = frozenset({"Job", "JobSet"})
"""Kinds of owners that the Kubernetes executor follows."""
ELSEWHERE = "kueue"
"""Stands for the executor of pods that stay with a controller which Headgate does not follow."""
MAX_REQUEST_OBJECTS, MAX_REQUEST_BYTES = 400, 6_000_000
IMPORT = "taken over from Kueue"

Dumps = Annotated[list[str], argument("FILE", "What kubectl get ... -o yaml wrote, or -")]
ExecutorName = Annotated[
    str, option("NAME", "Kubernetes executor that follows the Jobs and JobSets", "--executor")
]


class Standing(StrEnum):
    """What a workload of a dump is taken over as."""

    ADMITTED = "admitted"
    PENDING = "pending"
    FINISHED = "finished"


def import_kueue(
    ctx: typer.Context,
    *,
    files: Dumps,
    executor: ExecutorName = "",
    dry_run: DryRun = False,
    reason: Reason = IMPORT,
) -> None:
    """Take over queues and workloads from Kueue; what is admitted runs on."""
    found = [_of_here(one) for one in objects_in(documents_of(files))]
    configuration, workloads = _in_order(found), _by_standing(found)
    with client_of(ctx) as client:
        importing = _Import(client, configuration, dry_run=dry_run, reason=reason)
        for standing in (Standing.ADMITTED, Standing.PENDING):
            owned = [_with_controller(each, executor, standing) for each in workloads[standing]]
            importing.take(owned, standing)
        importing.tell_what_is_left(found, workloads[Standing.FINISHED])
        if not dry_run:
            tell_usage(client, found, importing.position)
    say(importing.summary())
    if importing.code is not ExitCode.OK:
        raise typer.Exit(importing.code)


class _Import:
    """An import under way: what was sent so far, and what became of it."""

    def __init__(
        self, client: HeadgateClient, configuration: list[Object], *, dry_run: bool, reason: str
    ) -> None:
        self._client = client
        self._configuration = configuration
        self._is_tried = dry_run
        self._reason = reason
        self._warnings: dict[Advice, dict[str, None]] = {}
        self._counts: Counter[str] = Counter()
        self._results: list[ItemResult] = []
        self.position = 0
        if configuration:
            batch = client.apply(_body(configuration), dry_run=dry_run, reason=reason)
            self._tell(batch, "")

    @property
    def code(self) -> ExitCode:
        """The exit code: that of the worst object."""
        return code_of_results(Batch(results=self._results))

    def take(self, workloads: Sequence[Object], standing: Standing) -> None:
        """Takes workloads over, some at a time.

        Without being applied they only find their queues in one request with them.
        """
        before = self._configuration if self._is_tried else []
        for part in _parts(workloads):
            batch = self._client.apply(
                _body([*before, *part]),
                dry_run=self._is_tried,
                reason=self._reason,
                imports="Kueue",
            )
            own = msgspec.structs.replace(batch, results=batch.results[len(before) :])
            self._tell(own, standing)

    def tell_what_is_left(self, found: Iterable[Object], finished: Sequence[Object]) -> None:
        """Names what has no effect, and what is not taken over, each once with the number."""
        for about, references in self._warnings.items():
            first, *others = references
            more = f" and {len(others)} more" if others else ""
            place = f" at {about.pointer}" if about.pointer else ""
            said = f"{about.severity.capitalize()}: {first}{more}{place}"
            say(f"{said}: {about.message} {about.remedy}".rstrip())
        taken = {*CONFIGURATION, "Workload"}
        left = Counter(str(one["kind"]) for one in found if one["kind"] not in taken)
        for kind, number in sorted(left.items()):
            say(f"Not taken over: {counted(number, 'object')} of kind {kind}, which has no equal")
        if finished:
            say(f"Not taken over: {counted(len(finished), 'finished workload')}")

    def summary(self) -> str:
        """One line with the numbers."""
        said = ", ".join(f"{number} {word}" for word, number in sorted(self._counts.items()))
        return (said or "nothing to take over") + (" (dry run)" if self._is_tried else "")

    def _tell(self, batch: Batch, standing: str) -> None:
        self._results += batch.results
        self.position = max(self.position, batch.position)
        for result in batch.results:
            is_new = result.outcome == "created" and standing
            word = standing if is_new else result.outcome
            self._counts[word if result.kind == "Workload" else f"configured {word}"] += 1
            show(f"{result.reference} {word}" + (" (dry run)" if self._is_tried else ""))
            if result.problem is not None:
                tell_problem(problem_in(result.problem), result.reference)
        for one in batch.warnings:
            about = msgspec.structs.replace(one, namespace="", name="")
            self._warnings.setdefault(about, {})[one.reference] = None


def _of_here(found: Object) -> Object:
    """The object without the version that it has in Kubernetes."""
    metadata = {name: v for name, v in found["metadata"].items() if name != "resourceVersion"}
    return {**found, "metadata": metadata}


def _body(objects: Iterable[Object]) -> bytes:
    return b"\n---\n".join(msgspec.json.encode(each) for each in objects)


def _parts(workloads: Sequence[Object]) -> Iterator[list[Object]]:
    """Parts in order, each small enough for one request."""
    part: list[Object] = []
    length = 0
    for one in workloads:
        size = len(msgspec.json.encode(one))
        if part and (len(part) >= MAX_REQUEST_OBJECTS or length + size > MAX_REQUEST_BYTES):
            yield part
            part, length = [], 0
        part.append(one)
        length += size
    if part:
        yield part


def _in_order(found: Iterable[Object]) -> list[Object]:
    known = [one for one in found if one["kind"] in CONFIGURATION]
    return sorted(known, key=lambda one: CONFIGURATION.index(one["kind"]))


def _by_standing(found: Iterable[Object]) -> dict[Standing, list[Object]]:
    """The workloads by what they are taken over as, in order of creation.

    What is admitted comes first, so that nothing pending is given what it holds.
    """
    grouped: dict[Standing, list[Object]] = {standing: [] for standing in Standing}
    for one in found:
        if one["kind"] == "Workload":
            grouped[_standing(one)].append(one)
    for workloads in grouped.values():
        workloads.sort(key=lambda one: str(one["metadata"].get("creationTimestamp")))
    return grouped


def _standing(workload: Object) -> Standing:
    status = workload.get("status") or {}
    conditions = status.get("conditions") or ()
    if any(each["type"] == "Finished" and each["status"] == "True" for each in conditions):
        return Standing.FINISHED
    return Standing.ADMITTED if status.get("admission") else Standing.PENDING


def _with_controller(workload: Object, executor: str, standing: Standing) -> Object:
    """The workload with the Job that its pods belong to, so that no executor starts them again.

    A pending workload of no Job is run by the executors of its flavor, as its templates say.
    """
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), next(iter(owners), None))
    is_followed = bool(executor) and owner is not None and owner["kind"] in JOB_KINDS
    if not is_followed and standing is Standing.PENDING:
        return workload
    known = owner or {"kind": "Workload", "name": metadata["name"], "uid": metadata.get("uid")}
    place = f"{metadata.get('namespace', 'default')}/{known['name']}/{known.get('uid')}"
    job = f"{executor if is_followed else ELSEWHERE}/{known['kind']}/{place}"
    spec = workload.get("spec") or {}
    pod_sets = [_of_job(each, job) for each in spec.get("podSets") or ()]
    return {**workload, "spec": {**spec, "podSets": pod_sets}}


def _of_job(pod_set: Object, job: str) -> Object:
    template = pod_set.get("template") or {}
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), JOB: job}
    return {
        **pod_set,
        "template": {**template, "metadata": {**metadata, "annotations": annotations}},
    }


def tell_usage(client: HeadgateClient, found: Iterable[Object], position: int) -> None:
    """Says where a ClusterQueue has another usage than Kueue said of it, once it is imported."""
    imported = {"minPosition": str(position)}
    for one in found:
        written = (one.get("status") or {}).get("flavorsReservation")
        if one["kind"] != "ClusterQueue" or written is None:
            continue
        name = one["metadata"]["name"]
        status = client.read(kind_of("ClusterQueue").path("", name), imported)["status"]
        before, now = _usage(written), _usage(status.get("flavorsReservation") or ())
        for place in sorted({*before, *now}):
            was, by_now = before.get(place, 0), now.get(place, 0)
            if was != by_now:
                here, there = (quantity_of(place[1], each) for each in (by_now, was))
                told = f"{'/'.join(place)}: {here} reserved, {there} in Kueue"
                say(f"Usage differs: clusterqueue/{name} {told}")


def _usage(flavors: Iterable[Object]) -> dict[tuple[str, str], int]:
    """Amounts by flavor and resource, without those that are 0."""
    pairs = chain.from_iterable(
        ((flavor["name"], each) for each in flavor.get("resources") or ()) for flavor in flavors
    )
    return {
        (flavor, each["name"]): amount
        for flavor, each in pairs
        if (amount := _amount(each["name"], str(each.get("total", "0"))))
    }


def _amount(resource: str, text: str) -> int:
    try:
        return amount_of(resource, text)
    except NotAQuantity:
        return 0
