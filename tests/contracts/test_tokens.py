"""What every store promises of tokens."""

from msgspec.structs import replace

from headgate.application.access.identity import ServiceAccount, Token
from headgate.application.access.rights import Grant
from tests.contracts.adapters import Adapters

SUBMITTER = Grant(role="submitter", namespaces=("a", "b"))
ADMIN = Grant(role="admin")
ADA = Token(
    name="ada",
    grants=(SUBMITTER,),
    groups=("physics",),
    digest="d1",
    created_at=5,
    expires_at=9,
)
ROOT = Token(name="root", grants=(ADMIN,), digest="d2", created_at=6)
CI = ServiceAccount(name="ci", grants=(SUBMITTER, ADMIN), groups=("bots",), created_at=7)
OF_CI = Token(name="ci-1", account="ci", digest="d3", created_at=8, expires_at=20)


def test_tokens_are_kept_by_name(adapters: Adapters) -> None:
    assert adapters.tokens.add(ROOT)
    assert adapters.tokens.add(ADA)

    assert adapters.tokens.all() == [ADA, ROOT]


def test_a_name_or_digest_is_taken_once(adapters: Adapters) -> None:
    adapters.tokens.add(ADA)

    same_name = Token(name="ada", grants=(ADMIN,), digest="other", created_at=1)
    same_digest = Token(name="other", grants=(ADMIN,), digest="d1", created_at=1)

    assert not adapters.tokens.add(same_name)
    assert not adapters.tokens.add(same_digest)
    assert adapters.tokens.all() == [ADA]


def test_a_removed_token_is_gone(adapters: Adapters) -> None:
    adapters.tokens.add(ADA)

    assert adapters.tokens.remove("ada")
    assert not adapters.tokens.remove("ada")
    assert adapters.tokens.all() == []


def test_a_token_of_an_account_has_what_the_account_is_granted_now(adapters: Adapters) -> None:
    assert adapters.tokens.add_account(CI)
    assert adapters.tokens.add(OF_CI)
    assert adapters.tokens.all() == [replace(OF_CI, grants=CI.grants, groups=CI.groups)]

    changed = replace(CI, grants=(ADMIN,), groups=())

    assert adapters.tokens.change_account(changed)
    assert adapters.tokens.accounts() == [changed]
    assert adapters.tokens.all() == [replace(OF_CI, grants=(ADMIN,), groups=())]


def test_tokens_go_with_their_account(adapters: Adapters) -> None:
    adapters.tokens.add_account(CI)
    adapters.tokens.add(OF_CI)
    adapters.tokens.add(ADA)

    assert adapters.tokens.remove_account("ci")
    assert not adapters.tokens.remove_account("ci")
    assert not adapters.tokens.change_account(CI)
    assert adapters.tokens.all() == [ADA]
    assert adapters.tokens.accounts() == []


def test_an_account_and_a_token_of_its_own_never_share_a_name(adapters: Adapters) -> None:
    adapters.tokens.add(ADA)
    adapters.tokens.add_account(CI)

    assert not adapters.tokens.add_account(replace(CI, name="ada"))
    assert not adapters.tokens.add_account(CI)
    assert not adapters.tokens.add(replace(ROOT, name="ci"))
    assert not adapters.tokens.add(replace(OF_CI, account="nowhere"))
    assert adapters.tokens.all() == [ADA]
