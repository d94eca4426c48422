"""Messages: codes with typed arguments, from which `headgate.messages` renders text.

Rules return messages, the log and the fold hold them, and the edges render them (language.md §1.7).
Control flow and tenant isolation read `code` and `arguments`; no code reads a rendered text.
"""

from typing import Annotated, TypeAlias

import msgspec


class ObjectReference(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="object"):
    """An object by the kind of its stream and its key: `workload`, `team-a/train-3`."""

    kind: str
    key: str


WorkloadKey: TypeAlias = Annotated[str, msgspec.Meta(extra={"reference": "workload"})]
"""The key of a workload, `namespace/name`, in a field that redaction reads by its type."""

BudgetKey: TypeAlias = Annotated[str, msgspec.Meta(extra={"reference": "disruptionbudget"})]
"""The key of a DisruptionBudget, `namespace/name`."""

WorkloadUid: TypeAlias = Annotated[str, msgspec.Meta(extra={"uid_of": "workload"})]
"""A uid that tells as much as the key of the workload beside it."""


class Amount(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="amount"):
    """A quantity of a resource in the units of `quantities`: millicores, bytes, devices."""

    resource: str
    quantity: int


class Message(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """A CamelCase code, and the arguments that its text names.

    Durations are integers in seconds and instants integers in microseconds, in arguments that the
    text formats so. A text that a user wrote is an argument; a sentence of Headgate never is.
    """

    code: str
    arguments: "dict[str, Argument]" = {}


Argument: TypeAlias = (
    "bool | int | str | ObjectReference | Amount | Message"
    " | tuple[int | str | ObjectReference | Amount | Message, ...] | None"
)


MessageOrText: TypeAlias = Message | str
"""A message of Headgate; as a string the text of a user, an executor or a controller."""


def message(code: str, /, **arguments: Argument) -> Message:
    """Returns the message of a code; a test holds that `messages/` has a text for it."""
    return Message(code, arguments)


def workload_reference(key: str) -> ObjectReference:
    """Returns the reference to the workload `namespace/name`."""
    return ObjectReference("workload", key)


def reference_of_stream(stream: str) -> ObjectReference:
    """Returns the reference to the object of a stream: `localqueue/team-a/main`."""
    kind, _, key = stream.partition("/")
    return ObjectReference(kind, key)


def workload_references(keys: "tuple[str, ...]") -> tuple[ObjectReference, ...]:
    """Returns the references to workloads, in the order of their keys given."""
    return tuple(workload_reference(key) for key in keys)


def error_message(error: Exception) -> Message:
    """Returns the message of an error of the program itself; its detail may name any object."""
    return message("InternalError", error=type(error).__name__, detail=str(error))
