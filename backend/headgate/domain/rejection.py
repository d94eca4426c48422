"""A rule said no: the one exception the domain raises, and what it tells the person."""

import msgspec


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule.

    `pointer` is a JSON pointer into the object as the caller wrote it (`/spec/podSets/0/count`),
    `rule` a sentence that states what holds, `remedy` what to do about it.
    """

    pointer: str
    rule: str
    remedy: str


class Rejection(Exception):
    """A command was refused; nothing has changed.

    Subclasses name what is the matter (`QueueStopped`). `violations` may be empty where no single
    field is to blame; then `detail` and `remedy` say it all.
    """

    def __init__(self, detail: str, *, remedy: str, violations: tuple[Violation, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy
        self.violations = violations


class InvalidObject(Rejection):
    """The object breaks rules of its kind; every broken rule is in `violations`."""


class InvalidRequest(InvalidObject):
    """What is asked for breaks rules, and there is no object to correct: a time, a stretch."""


class NotFound(Rejection):
    """No such object."""


class AlreadyExists(Rejection):
    """An object of that name exists."""


class InUse(Rejection):
    """The object cannot go, or change this way, while others use it."""


class IllegalNow(Rejection):
    """The command does not make sense in the object's present stage."""
