"""What every store promises of tokens."""

from headgate.application.access.identity import Token
from tests.contracts.adapters import Adapters

ADA = Token(
    name="ada", role="submitter", digest="d1", namespaces=("a", "b"), created_at=5, expires_at=9
)
ROOT = Token(name="root", role="admin", digest="d2", created_at=6)


def test_tokens_are_kept_by_name(adapters: Adapters) -> None:
    assert adapters.tokens.add(ROOT)
    assert adapters.tokens.add(ADA)

    assert adapters.tokens.all() == [ADA, ROOT]


def test_a_name_or_digest_is_taken_once(adapters: Adapters) -> None:
    adapters.tokens.add(ADA)

    same_name = Token(name="ada", role="admin", digest="other", created_at=1)
    same_digest = Token(name="other", role="admin", digest="d1", created_at=1)

    assert not adapters.tokens.add(same_name)
    assert not adapters.tokens.add(same_digest)
    assert adapters.tokens.all() == [ADA]


def test_a_removed_token_is_gone(adapters: Adapters) -> None:
    adapters.tokens.add(ADA)

    assert adapters.tokens.remove("ada")
    assert not adapters.tokens.remove("ada")
    assert adapters.tokens.all() == []
