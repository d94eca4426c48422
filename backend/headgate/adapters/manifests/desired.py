"""What one document of a manifest asks for, and what is wrong with one that cannot be read."""

from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.domain.rejection import InvalidObject, Rejection, Violation, moved


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """One object as wanted; `kind` is ours also where the manifest is a Job or a PriorityClass.

    `keeps` names fields of the spec that the caller left out and that stay as they are in a change
    (`priority` of a workload: it is to be resolved). `places` say where parts of our shape stand in
    the manifest as it was written. `uid` and `resource_version` are the caller's, often empty.
    `written` is the object as `written_body` keeps it; empty where it is not kept. `templates` are
    the whole pod templates of a workload that stand beside the log. `warnings` tell of fields that
    are accepted without effect.
    """

    kind: str
    namespace: str = ""
    name: str
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Any
    keeps: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    source: str
    line: int = 0
    written: bytes = b""
    templates: tuple[bytes, ...] = ()
    warnings: tuple[Violation, ...] = ()

    @property
    def stream_kind(self) -> str:
        """The kind as it stands in the names of streams."""
        return self.kind.lower()


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is no valid manifest; names are as far as they could be read."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    problem: InvalidObject
    line: int = 0


def named(desired: Desired, ending: str) -> Desired:
    """The object with the name that `generateName` and `ending` give, if it has none."""
    if desired.name or not desired.generate_name:
        return desired
    return replace(desired, name=desired.generate_name + ending)


def as_written(problem: Rejection, desired: Desired) -> Rejection:
    """The rejection with its pointers moved to where the caller wrote what they point to."""
    violations = tuple(
        Violation(moved(each.pointer, desired.places), each.message) for each in problem.violations
    )
    code, arguments = problem.message.code, problem.message.arguments
    if "pointer" in arguments:
        arguments = {**arguments, "pointer": violations[0].pointer}
    return type(problem)(code, violations=violations, **arguments)
