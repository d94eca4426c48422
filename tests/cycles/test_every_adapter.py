"""A day with crashes gives the same plans again on Postgres and in memory, by any hash seed."""

import psycopg

from headgate.adapters.memory.database import stored_event
from headgate.event_log.chain import chain_after, first_chain
from headgate.event_log.codec import encode
from tests.contracts.adapters import on_postgres
from tests.cycles.every_adapter import compare_on_every_adapter
from tests.hypothesis_profiles import examples
from tests.simulation.cluster import Cluster
from tests.simulation.scenario_run import installed_cluster

COLUMNS = (
    "position, stream, version, type, schema_version, body, at, actor, reason, causation, "
    "correlation, trace"
)
STEPS, CYCLES = examples(180, quick=100), examples(25, quick=15)


def write_down(cluster: Cluster, url: str) -> None:
    """The log of a simulated day and the records of its cycles, position by position."""
    with psycopg.connect(url, autocommit=True) as connection:
        (log_id,) = connection.execute("SELECT log_id::text FROM log_head").fetchone() or ("",)
        chain, chained = first_chain(log_id), b""
        with connection.cursor().copy(f"COPY event ({COLUMNS}) FROM STDIN") as copy:
            for one in cluster.log.read_all():
                name, schema_version, data = encode(one.event)
                chain = chain_after(chain, stored_event(one))
                chained += chain
                came = (one.metadata.actor, one.metadata.reason, one.metadata.causation)
                by = (*came, one.metadata.correlation, one.metadata.trace)
                place = (one.position, one.stream, one.version)
                copy.write_row((*place, name, schema_version, data, one.at, *by))
        connection.execute("UPDATE log_head SET position = %s", (cluster.log.head(),))
        connection.execute(
            "INSERT INTO log_chain VALUES (%s, 1, %s)", (cluster.log.head(), chained)
        )
    with on_postgres(url) as adapters:
        for record in cluster.records:
            adapters.cycles.put(record)


def test_cycles_of_a_day_with_crashes_are_the_same_everywhere(fresh_database_url: str) -> None:
    write_down(installed_cluster(7, STEPS, fault_rate=0.1), fresh_database_url)
    found = compare_on_every_adapter(fresh_database_url, CYCLES)
    assert found.cycles == CYCLES
    assert found.different == ()


def test_a_fact_that_was_decided_otherwise_is_noticed(fresh_database_url: str) -> None:
    write_down(installed_cluster(7, 60, fault_rate=0.1), fresh_database_url)
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE event DISABLE TRIGGER USER")
        connection.execute(
            "UPDATE event SET body = convert_to(jsonb_set(convert_from(body, 'UTF8')::jsonb, "
            "'{waited_seconds}', '99')::text, 'UTF8') WHERE type = 'workload.admitted'"
        )
    assert compare_on_every_adapter(fresh_database_url, 1_000, hash_seeds=("1",)).different
