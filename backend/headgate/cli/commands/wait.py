"""`wait`: wait until a workload meets a condition, up to a timeout."""

import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from headgate.adapters.system.clocks_and_randomness import unique_key
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    Namespace,
    Timeout,
    WorkloadName,
    client_of,
    option,
)
from headgate.cli.output import Format, say, show
from headgate.cli.units import seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Batch, ItemResult
from headgate.client.transport import ServerProblem

Object = dict[str, Any]
FINISHED = frozenset({"Succeeded", "Failed", "Cancelled"})
DELETED = "deleted"
ADMITTED = "condition=Admitted"
NOT_FOUND = 404
POLL_SECONDS = 5.0
REPLACED = "replaced by headgate submit --replace"


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """A condition to wait for; `reached` gets the workload, or None once it is deleted."""

    name: str
    reached: Callable[[Object | None], bool]


def wait(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    awaited: Annotated[
        str,
        option("CONDITION", "condition=TYPE[=STATUS], phase=PHASE, finished, or delete", "--for"),
    ] = "finished",
    timeout: Timeout = "10m",
    namespace: Namespace = DEFAULT_NAMESPACE,
) -> None:
    """Wait for a condition (exit 6: failed, 124: timeout)."""
    goal = goal_of(awaited)
    place, name = workload_key(workload, namespace)
    with client_of(ctx) as client:
        found = wait_for(client, f"{place}/{name}", goal, seconds_of(timeout))
    show(f"workload/{name} condition met: {goal.name}")
    _exit_if_failed(f"workload/{name}", found)


def _exit_if_failed(reference: str, found: Object | None) -> None:
    if found is not None and phase_of(found) in {"Failed", "Cancelled"}:
        say(f"{reference} finished: {phase_of(found)}")
        raise typer.Exit(ExitCode.WORKLOAD_FAILED)


def goal_of(text: str) -> Goal:
    """Returns the goal of a `--for` option; raises `CommandFailed` for an unknown one."""
    kind, _, rest = text.partition("=")
    match kind:
        case "condition" if rest:
            name, _, status = rest.partition("=")
            wanted = (status or "True").capitalize()
            return Goal(
                name=f"{name}={wanted}",
                reached=lambda found: _condition(found, name) == wanted,
            )
        case "phase" if rest:
            return Goal(
                name=f"phase={rest}",
                reached=lambda found: phase_of(found).lower() == rest.lower(),
            )
        case "finished":
            return Goal(name="finished", reached=lambda found: phase_of(found) in FINISHED)
        case "delete":
            return Goal(name=DELETED, reached=lambda found: found is None)
        case _:
            raise CommandFailed(
                f"unknown condition {text!r}",
                remedy="--for condition=Admitted | phase=Running | finished | delete",
                code=ExitCode.USAGE,
            )


def wait_for(client: HeadgateClient, key: str, goal: Goal, seconds: float) -> Object | None:
    """Returns the workload at the time it reached the goal; None if it was deleted.

    Events only tell when to read the workload again. Raises `CommandFailed` at the timeout, or when
    the workload finished without reaching the goal.
    """
    give_up_at = time.monotonic() + seconds
    namespace, _, name = key.partition("/")
    path = WORKLOAD.path(namespace, name)
    must_exist = goal.name != DELETED
    found = _read(client, path, must_exist=must_exist)
    after = client.head()
    heartbeat = min(POLL_SECONDS, max(seconds, 0.2))
    events = client.follow(after, streams=(f"workload/{key}",), quiet_seconds=heartbeat)
    found = _read(client, path, must_exist=must_exist)
    while not goal.reached(found):
        _raise_if_unreachable(found, key, goal)
        if time.monotonic() >= give_up_at:
            raise CommandFailed(
                f"workload/{name}: timed out after {seconds:g} s waiting for {goal.name} "
                f"(phase {phase_of(found)})",
                remedy=f"headgate why {key}",
                code=ExitCode.TIMED_OUT,
            )
        next(events)
        found = _read(client, path, must_exist=must_exist)
    return found


def wait_for_batch(
    client: HeadgateClient, batch: Batch, awaited: str, seconds: float, tell: Callable[[str], None]
) -> None:
    """Waits until each workload of a batch meets a condition of `--for`, and tells that it does."""
    goal = goal_of(awaited)
    for result in batch.results:
        if result.kind == WORKLOAD.name:
            say(f"Waiting for {result.reference}")
            found = wait_for(client, f"{result.namespace}/{result.name}", goal, seconds)
            met = "admitted" if awaited == ADMITTED else f"condition met: {goal.name}"
            tell(f"{result.reference} {met}")
            _exit_if_failed(result.reference, found)


def delete_present(
    client: HeadgateClient, manifest: Object, seconds: float, *, dry_run: bool
) -> bool:
    """Deletes the workload that has the name of a manifest, and waits until its pods stopped.

    Nothing is done where there is none. Returns whether that is all, as in a dry run that found
    one. Raises `ServerProblem` without a deletion where the manifest is invalid, and
    `CommandFailed` at the timeout: the deletion goes on, and nothing is submitted.
    """
    place, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    path = WORKLOAD.path(place, name)
    if _read(client, path, must_exist=False) is None:
        return False
    # Validated under another name, as this one is taken until the present workload is deleted.
    renamed = {**manifest["metadata"], "name": f"replacement-{unique_key()[:8]}"}
    client.try_submit({**manifest, "metadata": renamed})
    if dry_run:
        show(f"workload/{name} would be replaced (dry run)")
        return True
    client.remove(path, REPLACED)
    wait_for(client, f"{place}/{name}", goal_of("delete"), seconds)
    say(f"workload/{name} deleted")
    return False


NAME_TAKEN = "ObjectExists"
"""The server's code for a name that is taken."""
REPLACE = "Choose another name, or delete the present workload first with --replace."


def with_remedy(result: ItemResult) -> ItemResult:
    """Returns the result with the remedy that `submit` has for a name that is taken."""
    if result.problem is None or result.problem.get("code") != NAME_TAKEN:
        return result
    return msgspec.structs.replace(result, problem={**result.problem, "remedy": REPLACE})


def try_submit(client: HeadgateClient, manifest: Object) -> Object:
    """Returns the workload as it would be created; raises `ServerProblem`."""
    try:
        return client.try_submit(manifest)
    except ServerProblem as refused:
        if refused.problem.code != NAME_TAKEN:
            raise
        raise ServerProblem(msgspec.structs.replace(refused.problem, remedy=REPLACE)) from None


def telling(output: Format) -> Callable[[str], None]:
    """Returns how progress is shown: on stderr where names stand alone on stdout."""
    return say if output is Format.NAME else show


def phase_of(found: Object | None) -> str:
    """Returns the phase of a workload; `Deleted` without one."""
    return str(found["status"]["phase"]) if found else "Deleted"


def _read(client: HeadgateClient, path: str, *, must_exist: bool) -> Object | None:
    try:
        found: Object = client.read(path)
    except ServerProblem as problem:
        if problem.problem.status != NOT_FOUND or must_exist:
            raise
        return None
    return found


def _raise_if_unreachable(found: Object | None, key: str, goal: Goal) -> None:
    if phase_of(found) in FINISHED and goal.name != DELETED:
        raise CommandFailed(
            f"workload/{key} finished ({phase_of(found)}) without reaching {goal.name}",
            code=ExitCode.WORKLOAD_FAILED,
        )


def _condition(found: Object | None, name: str) -> str:
    for each in (found or {}).get("status", {}).get("conditions", []):
        if each["type"].lower() == name.lower():
            return str(each["status"])
    return "Unknown"
