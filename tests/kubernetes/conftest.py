"""Fixtures of tests over the double of the API server."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.api_double import ApiDouble, api_double
from tests.kubernetes.kubelet import Cluster


@pytest.fixture
def api() -> Iterator[ApiDouble]:
    """A double without nodes; a request that its table lacks fails the test."""
    with api_double() as made:
        yield made


@pytest.fixture
def cluster(api: ApiDouble) -> Cluster:
    """Two nodes that run pods."""
    return Cluster(api)
