"""What the first page says needs a person's attention."""

import pytest

from headgate.application.queries.attention import attention
from tests.builders.world import World, quotas


@pytest.mark.parametrize(
    ("waiting", "said"),
    [(0, "Nobody waits."), (1, "1 workload waits."), (2, "2 workloads wait.")],
)
def test_a_queue_that_admits_nothing_is_told_in_whole_sentences(waiting: int, said: str) -> None:
    world = World()
    world.cluster_queue("lonely", quotas(absent=4))
    for number in range(waiting):
        world.submit(f"w{number}", "lonely")
    (found,) = attention(world.cell, world.at, None)
    assert found.detail.startswith("Can't admit new workloads")
    assert found.detail.endswith(f". {said}")
    assert ".." not in found.detail
