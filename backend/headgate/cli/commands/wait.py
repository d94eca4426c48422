"""`wait`: until something is so, as the server says, and not a moment longer than allowed."""

import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.why import WorkloadName, workload_place
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import DEFAULT_NAMESPACE, Namespace, Timeout
from headgate.cli.presentation.output import say, show
from headgate.cli.presentation.units import seconds_of
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.client.problems import ServerProblem

Object = dict[str, Any]
FINISHED = frozenset({"Succeeded", "Failed", "Cancelled"})
NOT_FOUND = 404
LOOK_AGAIN_SECONDS = 5.0


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What is waited for; `reached` is asked with the object, or None once it is gone."""

    said: str
    reached: Callable[[Object | None], bool]


def wait(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    awaited: Annotated[
        str,
        typer.Option("--for", help="condition=TYPE[=STATUS], phase=PHASE, finished, or delete."),
    ] = "finished",
    timeout: Timeout = "10m",
    namespace: Namespace = DEFAULT_NAMESPACE,
) -> None:
    """Wait for a workload; exits 6 if it failed on the way, 124 when time is up."""
    goal = goal_of(awaited)
    place, name = workload_place(workload, namespace)
    with client_of(ctx) as client:
        found = wait_for(client, f"{place}/{name}", goal, seconds_of(timeout))
    show(f"workload/{name} {goal.said}")
    if found is not None and phase_of(found) in {"Failed", "Cancelled"}:
        say(f"workload/{name} ended as {phase_of(found)}")
        raise typer.Exit(ExitCode.WORKLOAD_FAILED)


def goal_of(text: str) -> Goal:
    """What `--for` asks; raises `CommandFailed` for anything unknown."""
    kind, _, rest = text.partition("=")
    match kind:
        case "condition" if rest:
            name, _, status = rest.partition("=")
            wanted = (status or "True").capitalize()
            return Goal(
                said=f"at {name}={wanted}",
                reached=lambda found: _condition(found, name) == wanted,
            )
        case "phase" if rest:
            return Goal(
                said=f"in phase {rest}",
                reached=lambda found: phase_of(found).lower() == rest.lower(),
            )
        case "finished":
            return Goal(said="finished", reached=lambda found: phase_of(found) in FINISHED)
        case "delete":
            return Goal(said="deleted", reached=lambda found: found is None)
        case _:
            raise CommandFailed(
                f"cannot wait for {text!r}",
                remedy="--for condition=Admitted | phase=Running | finished | delete",
                code=ExitCode.USAGE,
            )


def wait_for(client: HeadgateClient, key: str, goal: Goal, seconds: float) -> Object | None:
    """The workload as it stood when the goal was reached; None if it was gone then.

    Events only say when to look: what counts is the object as the server has it. Raises
    `CommandFailed` when time is up, or when it ended without reaching the goal.
    """
    give_up_at = time.monotonic() + seconds
    namespace, _, name = key.partition("/")
    path = WORKLOAD.path(namespace, name)
    must_exist = goal.said != "deleted"
    found = _look(client, path, must_exist=must_exist)
    after = client.head()
    quiet = min(LOOK_AGAIN_SECONDS, max(seconds, 0.2))
    looks = client.follow(after, streams=(f"workload/{key}",), quiet_seconds=quiet)
    found = _look(client, path, must_exist=must_exist)
    while not goal.reached(found):
        _stop_if_hopeless(found, key, goal)
        if time.monotonic() >= give_up_at:
            raise CommandFailed(
                f"workload/{name}: not {goal.said} within {seconds:g}s (now {phase_of(found)})",
                remedy=f"headgate why {key}",
                code=ExitCode.TIMED_OUT,
            )
        next(looks)
        found = _look(client, path, must_exist=must_exist)
    return found


def phase_of(found: Object | None) -> str:
    """The one word the server gives for where a workload stands."""
    return str(found["status"]["phase"]) if found else "Deleted"


def _look(client: HeadgateClient, path: str, *, must_exist: bool) -> Object | None:
    try:
        found: Object = client.read(path)
    except ServerProblem as problem:
        if problem.problem.status != NOT_FOUND or must_exist:
            raise
        return None
    return found


def _stop_if_hopeless(found: Object | None, key: str, goal: Goal) -> None:
    if phase_of(found) in FINISHED and goal.said != "deleted":
        raise CommandFailed(
            f"workload/{key} ended as {phase_of(found)} and will never be {goal.said}",
            code=ExitCode.WORKLOAD_FAILED,
        )


def _condition(found: Object | None, name: str) -> str:
    for each in (found or {}).get("status", {}).get("conditions", []):
        if each["type"].lower() == name.lower():
            return str(each["status"])
    return "Unknown"
