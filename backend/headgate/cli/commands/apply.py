"""`apply`, `lint` and `delete`: create, change, check and delete objects given as manifests."""

import difflib
import sys
from collections import Counter
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.history import stream_of
from headgate.cli.commands.simulate import (
    Expectation,
    Expected,
    require_simulation,
    show_simulation,
)
from headgate.cli.commands.wait import ADMITTED, wait_for_batch
from headgate.cli.failures import (
    CommandFailed,
    ExitCode,
    code_of_status,
    problem_in,
    tell_problem,
    worst,
)
from headgate.cli.kinds import (
    Kind,
    configured_kinds,
    is_kind,
    kind_of,
    manifest_in,
    objects_in,
    placed,
    references,
)
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    DryRunIn,
    DryRunMode,
    Files,
    Names,
    Namespace,
    Output,
    Reason,
    Selector,
    Simulated,
    Timeout,
    Yes,
    argument,
    client_of,
    documents_of,
    option,
)
from headgate.cli.output import Format, as_yaml, say, show, show_value
from headgate.cli.units import counted, seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Advice, Batch, ItemResult
from headgate.client.transport import ServerProblem

Object = dict[str, Any]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete configured objects of -l that aren't in the files")
]
ExportedKinds = Annotated[
    list[str] | None, argument("KIND", "Kinds, e.g. cq lq (default: all configured ones)")
]
PRUNED = "pruned by headgate apply --prune"
WaitForAdmission = Annotated[bool, typer.Option("--wait", help="Wait until workloads are admitted")]


def apply(
    ctx: typer.Context,
    *,
    files: Files,
    reason: Reason = "",
    prune: Prune = False,
    selector: Selector = "",
    dry_run: DryRunIn = DryRunMode.NONE,
    simulate: Simulated = False,
    expect: Expected = [],  # noqa: B006 - Typer copies it
    wait: WaitForAdmission = False,
    timeout: Timeout = "10m",
    output: Output = Format.TABLE,
) -> None:
    """Apply manifests."""
    if prune != bool(selector):
        raise CommandFailed("--prune and -l SELECTOR: use both", code=ExitCode.USAGE)
    documents = documents_of(files)
    mode = DryRunMode.ADMISSION if simulate else dry_run
    if prune and mode is DryRunMode.CLIENT:
        raise CommandFailed(
            "--prune: only the server knows what would be deleted",
            remedy="Use --dry-run=server.",
            code=ExitCode.USAGE,
        )
    if prune and mode is DryRunMode.ADMISSION:
        with client_of(ctx) as client:
            gone = ",".join(_surplus(_labelled(client, selector), _written(documents)))
            show_simulation(client.simulate(documents, {"delete": gone}), output, expect)
        return
    if is_shown_unsent(ctx, documents, mode, expect, output):
        return
    is_tried = mode is DryRunMode.SERVER
    with client_of(ctx) as client:
        labelled = _labelled(client, selector) if prune else {}
        batch = client.apply(documents, dry_run=is_tried, reason=reason)
        if not show_value(batch, output):
            tell_results(batch, dry_run=is_tried)
        code = code_of_results(batch)
        if prune and code is ExitCode.OK:
            code = _prune(client, batch, labelled, dry_run=is_tried)
        if wait and not is_tried and code is ExitCode.OK:
            wait_for_batch(client, batch, ADMITTED, seconds_of(timeout), show)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""
Labelled = dict[str, tuple[Kind, Key]]
"""Configured objects with the labels by reference, those that others refer to last."""


def _labelled(client: HeadgateClient, selector: str) -> Labelled:
    """Returns what pruning may delete; raises `ServerProblem` for a selector that is none.

    Workloads stay: what runs ends by `cancel` or `delete`.
    """
    labelled: Labelled = {}
    for kind in reversed(configured_kinds().values()):
        for found in client.items(kind.path(""), {"labelSelector": selector}):
            name, place = found["metadata"]["name"], found["metadata"].get("namespace", "")
            reference = f"{kind.name.lower()}/{place}/{name}".replace("//", "/")
            labelled[reference] = (kind, (kind.name, place, name))
    return labelled


def _surplus(labelled: Labelled, applied: set[Key]) -> list[str]:
    """The references of labelled objects that are not among those applied."""
    return [reference for reference, (_, key) in labelled.items() if key not in applied]


def _written(documents: bytes) -> set[Key]:
    """The keys of objects as manifests have them."""
    found: set[Key] = set()
    for one in objects_in(documents):
        name, kind = str(one["metadata"]["name"]), str(one["kind"])
        place = str(one["metadata"].get("namespace") or DEFAULT_NAMESPACE)
        found.add((kind, place if is_kind(kind) and kind_of(kind).namespaced else "", name))
    return found


def _prune(client: HeadgateClient, batch: Batch, labelled: Labelled, *, dry_run: bool) -> ExitCode:
    """Deletes labelled objects that were not among those applied."""
    applied = {(result.kind, result.namespace, result.name) for result in batch.results}
    codes: list[ExitCode] = []
    for reference in _surplus(labelled, applied):
        kind, (_, place, name) = labelled[reference]
        path = kind.path(place, name)
        codes.append(_delete_one(client, kind, path, reference, PRUNED, dry_run=dry_run))
    return worst(codes)


def diff(ctx: typer.Context, *, files: Files) -> None:
    """Show what applying manifests would change (exit 1 if anything)."""
    documents = documents_of(files)
    written = {_key_of(one): one for one in objects_in(documents)}
    with client_of(ctx) as client:
        batch = client.apply(documents, dry_run=True)
        for result in batch.results:
            if result.problem is not None:
                tell_problem(problem_in(result.problem), result.reference)
            elif result.outcome != "unchanged":
                show(_difference(client, result, written) or f"{result.reference} changed")
    code = code_of_results(batch)
    differs = any(result.outcome != "unchanged" for result in batch.results)
    if code is not ExitCode.OK or differs:
        raise typer.Exit(code if code is not ExitCode.OK else ExitCode.FAILURE)


def _difference(client: HeadgateClient, result: ItemResult, written: dict[str, Object]) -> str:
    """Returns a unified diff from the object as it was written to what the file has."""
    key = f"{result.kind}/{result.namespace}/{result.name}"
    wanted = written.get(key) or written.get(f"{result.kind}/{DEFAULT_NAMESPACE}/{result.name}")
    if wanted is None or not is_kind(result.kind):
        return ""
    present: Object = {}
    if result.outcome != "created":
        kind = kind_of(result.kind)
        found = client.read(kind.path(result.namespace, result.name))
        present = manifest_in({"kind": kind.name, **found})
    before, after = (as_yaml(one).splitlines() if one else [] for one in (present, wanted))
    names = f"server/{result.reference}", f"file/{result.reference}"
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))


def _key_of(written: Object) -> str:
    metadata = written["metadata"]
    return f"{written['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"


def export(
    ctx: typer.Context,
    *,
    kinds: ExportedKinds = None,
    selector: Selector = "",
) -> None:
    """Write the configuration as manifests, ready to be applied.

    Applied to the same server they are unchanged: `headgate export > backup.yaml`
    """
    asked = [kind_of(word) for word in kinds or ()] or list(configured_kinds().values())
    with client_of(ctx) as client:
        for kind in asked:
            for page in client.pages(kind.path(""), {"labelSelector": selector}):
                for item in page["items"]:
                    told = {"apiVersion": page.get("apiVersion"), "kind": kind.name, **item}
                    show(f"---\n{as_yaml(manifest_in(told))}")


def is_shown_unsent(
    ctx: typer.Context,
    documents: bytes,
    mode: DryRunMode,
    expect: list[Expectation],
    output: Format,
) -> bool:
    """Shows objects as they were read, or what applying them would do; whether the mode asks so."""
    require_simulation(expect, simulate=mode is DryRunMode.ADMISSION)
    if mode is DryRunMode.CLIENT:
        show_read(objects_in(documents), output)
        return True
    if mode is DryRunMode.ADMISSION:
        with client_of(ctx) as client:
            show_simulation(client.simulate(documents), output, expect)
        return True
    return False


def show_read(found: list[Object], output: Format) -> None:
    """Shows objects that were only read, as kubectl does after `--dry-run=client`."""
    if show_value(found[0] if len(found) == 1 else {"items": found}, output):
        return
    for one in found:
        outcome = "" if output is Format.NAME else " read (client dry run)"
        show(f"{str(one['kind']).lower()}/{one['metadata']['name']}{outcome}")


def tell_results(batch: Batch, *, dry_run: bool = False, names_only: bool = False) -> None:
    """Shows one line for each object, and reports its problem on stderr if it was rejected."""
    for result in batch.results:
        outcome = f" {result.outcome}" + (" (dry run)" if dry_run else "")
        if not names_only:
            show(f"{result.reference}{outcome}")
        elif result.problem is None:
            show(result.reference)
        if result.problem is not None:
            tell_problem(problem_in(result.problem), result.reference)
    _tell_warnings(batch.warnings)


def _tell_warnings(found: list[Advice]) -> None:
    """Reports warnings on stderr, as kubectl does, each with its remedy."""
    for one in found:
        place = f" at {one.pointer}" if one.pointer else ""
        say(f"{one.severity.capitalize()}: {one.reference}{place}: {one.message} {one.remedy}")


def code_of_results(batch: Batch) -> ExitCode:
    """Returns the exit code of a batch; `OK` if nothing was rejected."""
    return worst([_code_of(result) for result in batch.results])


def _code_of(result: ItemResult) -> ExitCode:
    if result.outcome != "rejected":
        return ExitCode.OK
    return code_of_status(problem_in(result.problem).status)


def delete(
    ctx: typer.Context,
    *,
    names: Names,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRunIn = DryRunMode.NONE,
    simulate: Simulated = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Delete resources (in-use ones are finalized later)."""
    asked = references(names)
    if dry_run is DryRunMode.CLIENT:
        for kind, name in asked:
            short = placed(name, namespace)[1]
            show(f"{kind.name.lower()}/{short} would be deleted (client dry run)")
        return
    if simulate or dry_run is DryRunMode.ADMISSION:
        streams = ",".join(stream_of(kind.name, name, namespace) for kind, name in asked)
        with client_of(ctx) as client:
            show_simulation(client.simulate(b"", {"delete": streams}), output)
        return
    is_tried = dry_run is DryRunMode.SERVER
    if len(asked) > 1 and not yes and not is_tried and sys.stdin.isatty():
        typer.confirm(f"Delete {len(asked)} objects?", abort=True, err=True)
    codes: list[ExitCode] = []
    with client_of(ctx) as client:
        for kind, name in asked:
            place, short = placed(name, namespace)
            path = kind.path(place, short)
            reference = f"{kind.name.lower()}/{short}"
            codes.append(_delete_one(client, kind, path, reference, reason, dry_run=is_tried))
    if worst(codes) is not ExitCode.OK:
        raise typer.Exit(worst(codes))


def _delete_one(
    client: HeadgateClient, kind: Kind, path: str, reference: str, reason: str, *, dry_run: bool
) -> ExitCode:
    try:
        if kind.submitted_as:
            kind.require(client.read(path))
        answer = client.read(path) if dry_run else client.remove(path, reason)
    except ServerProblem as refused:
        tell_problem(refused.problem, reference)
        return code_of_status(refused.problem.status)
    show(f"{reference} {'would be deleted (dry run)' if dry_run else _how_deleted(answer)}")
    return ExitCode.OK


def _how_deleted(answer: dict[str, Any] | None) -> str:
    """Returns the result of a deletion; an object in use is only marked for deletion."""
    stays = (answer or {}).get("metadata", {}).get("deletionTimestamp")
    return "in use; deleted once nothing references it" if stays else "deleted"


MaybeFiles = Annotated[
    list[str] | None,
    option(
        "FILE",
        "File, directory, or - for stdin (default: the current configuration)",
        "--filename",
        "-f",
    ),
]


def lint(ctx: typer.Context, *, files: MaybeFiles = None, output: Output = Format.TABLE) -> None:
    """Validate manifests and report likely mistakes."""
    with client_of(ctx) as client:
        code = _lint_files(client, files, output) if files else _lint_configuration(client, output)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def _lint_files(client: HeadgateClient, files: list[str], output: Format) -> ExitCode:
    """Checks manifests together with the current configuration."""
    batch: Batch = client.apply(documents_of(files), dry_run=True)
    if not show_value(batch, output):
        for result in batch.results:
            if result.problem is not None:
                tell_problem(problem_in(result.problem), result.reference)
        errors = sum(result.problem is not None for result in batch.results)
        _show_summary(batch.warnings, counted(len(batch.results), "object"), errors)
    return code_of_results(batch)


def _lint_configuration(client: HeadgateClient, output: Format) -> ExitCode:
    answer: dict[str, Any] = client.read("/v1/lint")
    if not show_value(answer, output):
        _show_summary(msgspec.convert(answer["items"], list[Advice]), "the configuration")
    return ExitCode.OK


def _show_summary(warnings: list[Advice], where: str, errors: int = 0) -> None:
    _tell_warnings(warnings)
    numbers = Counter({"error": errors}) + Counter(one.severity.lower() for one in warnings)
    found = ", ".join(counted(number, severity) for severity, number in sorted(numbers.items()))
    show(f"{found or 'No problems found'} in {where}")
