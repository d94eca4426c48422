"""Fixtures of tests of executors."""

from collections.abc import Iterator

import pytest

from tests.executors.slurm_cluster import SlurmTestCluster, slurm_cluster


@pytest.fixture(scope="session")
def slurm_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmTestCluster]:
    """A Slurm cluster on this host, for all tests of a process."""
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made
