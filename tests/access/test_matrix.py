"""The API answers every role on every route as `matrix.toml` says, and tells nothing of others."""

import sys
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from headgate.settings import Settings
from tests.access.expected import CONFINED, NAMESPACES, ROLES, Namespace, expected, routes
from tests.access.installation import (
    SECRET,
    Installation,
    address,
    body,
    install,
    is_allowed,
    undo,
)
from tests.api.callers import Api, workload
from tests.api.serving import serving

Case = tuple[str, str, Namespace]


@pytest.fixture(scope="module")
def installation(admin: Api, schedule: Callable[[], int]) -> Installation:
    return install(admin, schedule)


def unexpected(installation: Installation, cases: Iterator[Case]) -> list[str]:
    """What is not as the matrix says: other rights, 5xx, or the name of another tenant."""
    found = []
    for route, role, place in cases:
        caller, where = installation.callers[role], address(route, place, installation.ids)
        method = route.partition(" ")[0]
        content = None if method in ("GET", "DELETE") else body(route, place)
        answer = caller.client.request(method, where, json=content, headers=caller.headers)
        undo(installation.callers["admin"], route, where, answer)
        allowed = role in expected().get(route, {}).get(place, frozenset())
        told = f"{role} {method} {where}: {answer.status_code} {answer.text[:200]}"
        if route not in expected():
            found.append(f"not in the matrix: {route}")
        elif answer.status_code >= 500 or is_allowed(route, answer) != allowed:
            found.append(f"expected {'allowed' if allowed else 'refused'}: {told}")
        elif role in CONFINED and SECRET in answer.text:
            found.append(f"names {SECRET}: {told}")
    return found


def test_the_matrix_names_the_routes_of_the_api_and_no_others() -> None:
    assert sorted(expected()) == sorted(routes())


def test_the_secret_is_there_to_be_told(installation: Installation) -> None:
    assert installation.untold == ()


def test_each_route_answers_each_role_in_one_namespace(installation: Installation) -> None:
    cases = (
        (route, role, NAMESPACES[(nth + which) % len(NAMESPACES)])
        for nth, route in enumerate(routes())
        for which, role in enumerate(ROLES)
    )
    assert unexpected(installation, cases) == []


@pytest.mark.nightly
def test_the_stream_tells_nothing_of_other_tenants(
    installation: Installation, settings: Settings
) -> None:
    last = "the-last-of-team-a"
    made = installation.callers["admin"].post(
        "/v1/namespaces/team-a/workloads", workload(last, queue="own")
    )
    with serving(settings) as server:
        for role in (*CONFINED, "admin"):
            told, headers = "", installation.callers[role].headers
            address = f"/v1/stream?after=0&minPosition={made.headers['x-log-position']}"
            with server.http.stream("GET", address, headers=headers) as answer:
                assert answer.status_code == 200
                for line in answer.iter_lines():
                    told += line
                    if last in line:
                        break
            assert (SECRET in told) == (role == "admin"), role


@pytest.mark.nightly
def test_every_route_answers_every_role_as_the_matrix_says(installation: Installation) -> None:
    cases = list(product(routes(), ROLES, NAMESPACES))
    found = unexpected(installation, iter(cases))
    sys.stdout.write(
        f"\nroles {len(ROLES)} × routes {len(routes())} × namespaces {len(NAMESPACES)}"
        f" = {len(cases)}, unexpected {len(found)}\n"
    )
    assert found == []
