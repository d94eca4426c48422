"""Tokens, who one is, and what one may do."""

from typing import Annotated, Literal

import msgspec

from headgate.api.schemas import RequestBody, Schema, Timestamp, Whole

RoleName = Literal["viewer", "submitter", "executor", "admin"]


class TokenRequest(RequestBody, kw_only=True, frozen=True):
    """A token to make; a submitter names its namespaces."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
    role: RoleName
    namespaces: list[str] = []
    expires_at: Timestamp | None = None


class TokenDetail(Schema, kw_only=True, frozen=True):
    """A token without its secret."""

    name: str
    role: RoleName
    namespaces: list[str] = []
    created_at: Timestamp
    expires_at: Timestamp | None = None


class NewToken(TokenDetail, kw_only=True, frozen=True):
    """A token just made; its secret is shown this once."""

    secret: str


class TokenList(Whole, kw_only=True, frozen=True):
    """All tokens, by name."""

    items: list[TokenDetail]


class WhoAmI(Whole, kw_only=True, frozen=True):
    """Who this token is."""

    name: str
    role: RoleName
    namespaces: list[str]


class CanI(Whole, kw_only=True, frozen=True):
    """Whether this token may, and why or why not."""

    allowed: bool
    reason: str
