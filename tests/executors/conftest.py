"""Fixtures of tests of executors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors.ray_cluster import RayTestCluster, ray_cluster
from tests.executors.ray_double import RayDouble
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


@pytest.fixture(scope="session")
def ray_of_tests() -> Iterator[RayTestCluster]:
    """A Ray cluster on this host, for all tests of a process."""
    with ray_cluster() as made:
        yield made


@pytest.fixture
def ray_double(tmp_path: Path) -> Iterator[RayDouble]:
    """A dashboard that runs the ranks of jobs by itself, as Ray would."""
    made = RayDouble(tmp_path / "double")
    yield made
    made.end()
