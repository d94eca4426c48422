"""Actions and queries for tests of preemption rounds."""

from typing import Any

from headgate.domain.rounds.state import Round
from headgate.domain.workloads.commands import AcknowledgeEviction
from headgate.domain.workloads.specs import EvictionPolicy
from tests.builders.world import StreamEvent, World

SOFT = EvictionPolicy(grace_period_seconds=300, require_ack=True, handler="ckpt")


def acknowledge(world: World, key: str, ends_in: int | None = None) -> None:
    """Reports that the handler of a victim has begun, with the seconds it needs, if any."""
    eviction = world[key].eviction
    assert eviction is not None, f"{key} is not being evicted"
    until = None if ends_in is None else world.at + ends_in * 1_000_000
    command = AcknowledgeEviction(
        uid=world[key].uid, eviction=eviction.id, handler="ckpt", expected_end_at=until
    )
    world.tell(key, command)


def only_round(world: World) -> Round:
    """Returns the only round of the log."""
    (found,) = world.cluster_state.rounds.values()
    return found


def streams_with(made: list[StreamEvent], kind: type[Any]) -> list[str]:
    """Returns the streams of the events of one kind."""
    return [stream for stream, event in made if isinstance(event, kind)]
