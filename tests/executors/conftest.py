"""Fixtures of tests of executors."""

from collections.abc import Iterator

import pytest

from tests.executors.slurm_cluster import SlurmTestCluster, slurm_cluster


@pytest.fixture(scope="session")
def slurm_daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmTestCluster]:
    """A Slurm cluster on this host, for all tests of a process."""
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture
def slurm_of_tests(slurm_daemons: SlurmTestCluster) -> SlurmTestCluster:
    """The cluster as it was when it started, whatever a test before has done to it."""
    slurm_daemons.until_restored()
    return slurm_daemons
