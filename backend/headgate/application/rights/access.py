"""Who may do what: four roles, and the namespaces a submitter is confined to."""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant

Role = Literal["viewer", "submitter", "executor", "admin"]
Right = Literal["read", "submit", "report", "configure"]

RIGHTS: dict[Role, tuple[Right, ...]] = {
    "viewer": ("read",),
    "submitter": ("read", "submit"),
    "executor": ("read", "report"),
    "admin": ("read", "submit", "report", "configure"),
}


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token as it is kept: `digest` is the SHA-256 of the secret in hexadecimal."""

    name: str
    role: Role
    digest: str
    namespaces: tuple[str, ...] = ()
    created_at: Instant
    expires_at: Instant | None = None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls. `namespaces` of None means every namespace."""

    name: str
    role: Role
    namespaces: frozenset[str] | None = None

    @property
    def actor(self) -> str:
        """How events name this caller."""
        return f"executor:{self.name}" if self.role == "executor" else f"user:{self.name}"

    def may(self, right: Right) -> bool:
        """Whether the role includes that right."""
        return right in RIGHTS[self.role]

    def sees(self, namespace: str) -> bool:
        """Whether objects of that namespace are this caller's to see."""
        return self.namespaces is None or namespace in self.namespaces


def identity_of(token: Token) -> Identity:
    """The identity a token stands for."""
    confined = token.role == "submitter"
    return Identity(
        name=token.name,
        role=token.role,
        namespaces=frozenset(token.namespaces) if confined else None,
    )


READING = ("get", "list", "read", "watch", "explain")
REPORTING = ("report", "acknowledge", "progress", "finish", "heartbeat")


def right_for(verb: str, kind: str) -> Right:
    """The right that doing `verb` to objects of `kind` takes."""
    if verb in READING:
        return "read"
    if verb in REPORTING:
        return "report"
    return "submit" if kind.lower() in ("workload", "workloads") else "configure"
