"""The tables that the migrations make, as the drift test compares them."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    literal_column,
)
from sqlalchemy.dialects.postgresql import JSONB

METADATA = MetaData()
BYTEWISE = Text(collation="C")
"""Names that are compared or paged by: sorted by their bytes in every database."""


def _column(name: str, kind: Any) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _key(name: str, kind: Any = BYTEWISE) -> Column[Any]:
    return Column(name, kind, primary_key=True)


LOG_HEAD = Table(
    "log_head",
    METADATA,
    _key("id", Boolean),
    _column("log_id", Uuid),
    _column("position", BigInteger),
    _column("config_position", BigInteger),
    _column("reshaped_position", BigInteger),
)

EVENT = Table(
    "event",
    METADATA,
    _key("position", BigInteger),
    _column("at", BigInteger),
    _column("version", Integer),
    _column("schema_version", SmallInteger),
    _column("type", BYTEWISE),
    _column("stream", BYTEWISE),
    _column("actor", Text),
    _column("reason", Text),
    _column("causation", Text),
    _column("correlation", Text),
    _column("trace", Text),
    _column("body", LargeBinary),
    postgresql_partition_by="RANGE (position)",
)
Index("event_stream", EVENT.c.stream, EVENT.c.version.op(">>")(literal_column("6")))
Index("event_type", EVENT.c.type, postgresql_using="brin")
Index("event_correlation", EVENT.c.correlation, postgresql_where=EVENT.c.correlation != "")
Index("event_at", EVENT.c.at, postgresql_using="brin")
Index(
    "event_of_objects",
    EVENT.c.type,
    EVENT.c.position,
    postgresql_where=~func.starts_with(EVENT.c.stream, "workload/"),
)

DICTIONARY = Table(
    "dictionary",
    METADATA,
    _key("id", Integer),
    _column("body", LargeBinary),
    _column("position", BigInteger),
    _column("trained_at", DateTime(timezone=True)),
)

ARCHIVED_PARTITION = Table(
    "archived_partition",
    METADATA,
    _key("first", BigInteger),
    _column("last", BigInteger),
    _column("log", Text),
    _column("digest", Text),
    _column("stored_bytes", BigInteger),
    _column("archived_at", BigInteger),
)

ARCHIVED_FRAME = Table(
    "archived_frame",
    METADATA,
    _key("first", BigInteger),
    _column("last", BigInteger),
    _column("archived_partition", BigInteger),
    _column("place", BigInteger),
    _column("length", Integer),
    _column("first_at", BigInteger),
    _column("last_at", BigInteger),
    _column("types", ARRAY(Text)),
    _column("streams", LargeBinary),
)

LOG_ARCHIVE = Table(
    "log_archive",
    METADATA,
    Column("id", Boolean, primary_key=True, server_default="true"),
    _column("checked_at", BigInteger),
    _column("failure", Text),
    Column("failed_at", BigInteger),
)

LOG_CHAIN = Table(
    "log_chain",
    METADATA,
    _key("position", BigInteger),
    _column("first", BigInteger),
    _column("chain", LargeBinary),
)

STREAM_VERSION = Table(
    "stream_version",
    METADATA,
    _key("name"),
    _column("version", Integer),
    _column("position", BigInteger),
)

IDEMPOTENCY = Table(
    "idempotency",
    METADATA,
    _key("key"),
    _key("actor"),
    _column("request_hash", Text),
    _column("status", Integer),
    _column("answer", LargeBinary),
    _column("position", BigInteger),
    _column("created_at", DateTime(timezone=True)),
)
Index("idempotency_created_at", IDEMPOTENCY.c.created_at, postgresql_using="brin")

PARTITION = Table(
    "partition",
    METADATA,
    _key("key"),
    _column("last_position", BigInteger),
    _column("idle_position", BigInteger),
    _column("guard", BigInteger),
    _column("epoch", BigInteger),
    _column("owner", Text),
    Column("next_due", BigInteger),
    _column("failures", Integer),
    _column("failure", Text),
    Column("halted_position", BigInteger),
    Column("retry_at", BigInteger),
)

OBJECT = Table(
    "object",
    METADATA,
    _key("stream"),
    _column("version", Integer),
    _column("position", BigInteger),
    _column("kind", BYTEWISE),
    _column("namespace", BYTEWISE),
    _column("name", BYTEWISE),
    _column("uid", Text),
    _column("cluster_queue", BYTEWISE),
    _column("labels", JSONB),
    Column("due_at", BigInteger),
    _column("state", LargeBinary),
)
Index("object_kind", OBJECT.c.kind, OBJECT.c.stream)
Index(
    "object_cluster_queue",
    OBJECT.c.cluster_queue,
    postgresql_where=OBJECT.c.cluster_queue != "",
)


def _workload_columns() -> list[Column[Any]]:
    return [
        _column("stream", BYTEWISE),
        _column("version", Integer),
        _column("position", BigInteger),
        _column("namespace", BYTEWISE),
        _column("name", BYTEWISE),
        _column("local_queue", BYTEWISE),
        _column("cluster_queue", BYTEWISE),
        _column("phase", BYTEWISE),
        _column("priority", BigInteger),
        _column("created_at", BigInteger),
        _column("labels", JSONB),
        Column("due_at", BigInteger),
        _column("state", LargeBinary),
        _column("owner", BYTEWISE),
        _column("gpus", BigInteger),
        _column("pods", BigInteger),
        _column("executed_seconds", BigInteger),
        Column("admitted_at", BigInteger),
        Column("finished_at", BigInteger),
        Column("stuck_since", BigInteger),
        Column("reserved_at", BigInteger),
        _column("stuck_cause", BYTEWISE),
        _column("size_class", BYTEWISE),
    ]


Table("workload", METADATA, *_workload_columns(), postgresql_partition_by="LIST (phase)")
WORKLOAD_LIVE = Table(
    "workload_live", METADATA, *_workload_columns(), PrimaryKeyConstraint("stream")
)
WORKLOAD_ENDED = Table(
    "workload_ended", METADATA, *_workload_columns(), PrimaryKeyConstraint("stream")
)
for table in (WORKLOAD_LIVE, WORKLOAD_ENDED):
    has_quota = table.c.reserved_at.is_not(None)
    Index(f"{table.name}_created_at", table.c.created_at)
    Index(f"{table.name}_namespace_phase", table.c.namespace, table.c.phase, table.c.created_at)
    Index(f"{table.name}_owner", table.c.owner, table.c.created_at)
    Index(f"{table.name}_phase", table.c.phase, table.c.created_at)
    Index(f"{table.name}_phase_name", table.c.phase.concat(""), table.c.name)
    Index(f"{table.name}_reserved_at", table.c.reserved_at, postgresql_where=has_quota)
    Index(
        f"{table.name}_waits",
        table.c.cluster_queue,
        table.c.size_class,
        table.c.reserved_at,
        postgresql_where=has_quota,
    )
Index(
    "workload_live_stuck",
    WORKLOAD_LIVE.c.stuck_since,
    WORKLOAD_LIVE.c.created_at.desc(),
    WORKLOAD_LIVE.c.stream.desc(),
    postgresql_where=WORKLOAD_LIVE.c.stuck_cause != "",
)
Index("workload_ended_finished", WORKLOAD_ENDED.c.finished_at)
Index(
    "workload_ended_expiring",
    WORKLOAD_ENDED.c.due_at,
    postgresql_where=WORKLOAD_ENDED.c.due_at.is_not(None),
)

Table(
    "wait_tally",
    METADATA,
    _key("slot", BigInteger),
    _key("cluster_queue"),
    _key("wait_seconds", BigInteger),
    _column("workloads", BigInteger),
)

Table(
    "workload_tally",
    METADATA,
    _key("namespace"),
    _key("local_queue"),
    _key("cluster_queue"),
    _key("owner"),
    _key("phase"),
    _key("priority", BigInteger),
    _key("stuck_cause"),
    _column("workloads", BigInteger),
    _column("gpus", BigInteger),
    _column("pods", BigInteger),
)

ROUND = Table(
    "round",
    METADATA,
    _key("stream"),
    _column("version", Integer),
    _column("position", BigInteger),
    _column("stage", BYTEWISE),
    _column("preemptor", BYTEWISE),
    _column("cluster_queue", BYTEWISE),
    _column("committed_at", BigInteger),
    Column("due_at", BigInteger),
    _column("state", LargeBinary),
)
Index("round_committed_at", ROUND.c.committed_at, ROUND.c.stream)
Index("round_preemptor", ROUND.c.preemptor, ROUND.c.committed_at)

ROUND_VICTIM = Table(
    "round_victim",
    METADATA,
    _key("stream"),
    _key("workload"),
    _column("version", Integer),
    _column("position", BigInteger),
    _column("cluster_queue", BYTEWISE),
    _column("reason", BYTEWISE),
    _column("released", Boolean),
)
Index("round_victim_workload", ROUND_VICTIM.c.workload)
Index("round_victim_cluster_queue", ROUND_VICTIM.c.cluster_queue)

TOKEN = Table(
    "token",
    METADATA,
    _key("name"),
    _column("digest", Text),
    _column("role", Text),
    _column("namespaces", JSONB),
    _column("created_at", BigInteger),
    Column("expires_at", BigInteger),
    _column("grants", JSONB),
    _column("groups", JSONB),
    _column("account", BYTEWISE),
    UniqueConstraint("digest", name="token_digest_key"),
)

SERVICE_ACCOUNT = Table(
    "service_account",
    METADATA,
    _key("name"),
    _column("grants", JSONB),
    _column("groups", JSONB),
    _column("created_at", BigInteger),
)

STATE_CACHE = Table(
    "state_cache",
    METADATA,
    _key("name"),
    _key("fold_version"),
    _key("position", BigInteger),
    _column("sha256", LargeBinary),
    _column("body", LargeBinary),
    _column("created_at", DateTime(timezone=True)),
    Column("parts", ARRAY(Text), nullable=False),
)

STATE_PART = Table(
    "state_part",
    METADATA,
    _key("name"),
    _column("body", LargeBinary),
)

CYCLE_RECORD = Table(
    "cycle_record",
    METADATA,
    _key("id"),
    _column("partition", BYTEWISE),
    _column("at", BigInteger),
    _column("input_position", BigInteger),
    _column("body", LargeBinary),
    Column("is_committed", Boolean),
    Column("cycles", Integer),
    Column("heads", Integer),
    Column("decisions", Integer),
    Column("planning_microseconds", BigInteger),
    Column("commit_microseconds", BigInteger),
)
Index("cycle_record_at", CYCLE_RECORD.c.at, CYCLE_RECORD.c.id)

BACKTEST = Table(
    "backtest",
    METADATA,
    _key("id"),
    _column("created_at", BigInteger),
    _column("is_over", Boolean),
    _column("revision", BigInteger),
    _column("taken_by", BYTEWISE),
    Column("taken_until", DateTime(timezone=True)),
    _column("body", LargeBinary),
    Column("outcome", LargeBinary),
    Column("progress", LargeBinary),
    Column("kind", BYTEWISE, nullable=False, server_default="'Backtest'"),
    Column("author", BYTEWISE, nullable=False, server_default="''"),
)
Index("backtest_created_at", BACKTEST.c.created_at, BACKTEST.c.id)

WRITTEN_OBJECT = Table(
    "written_object",
    METADATA,
    _key("digest"),
    _column("body", LargeBinary),
)

FOLLOWER = Table(
    "follower",
    METADATA,
    _key("name"),
    _column("generation", Integer),
    _column("position", BigInteger),
    Column("chain", LargeBinary),
)

FOLLOWER_MEMORY = Table(
    "follower_memory",
    METADATA,
    _key("key", LargeBinary),
    _column("generation", Integer),
    _column("follower", BYTEWISE),
    _column("value", LargeBinary),
)

# Releases before this one fold rounds into it; nothing reads it, and the next release drops it.
PREEMPTION_LEDGER = Table(
    "preemption_ledger",
    METADATA,
    _key("generation", Integer),
    _key("round_id"),
    _key("victim"),
    _column("preemptor", BYTEWISE),
    _column("preemptor_priority", BigInteger),
    _column("preemptor_queue", BYTEWISE),
    _column("victim_queue", BYTEWISE),
    _column("rule", Text),
    _column("victim_priority", BigInteger),
    _column("pods", BigInteger),
    _column("freed", JSONB),
    _column("running_seconds", BigInteger),
    _column("lost", JSONB),
    _column("considered", BigInteger),
    _column("committed_at", BigInteger),
    Column("released_at", BigInteger),
    _column("released_by", Text),
    Column("ended_at", BigInteger),
    _column("outcome", Text),
)
Index(
    "preemption_ledger_committed_at",
    PREEMPTION_LEDGER.c.generation,
    PREEMPTION_LEDGER.c.committed_at,
    PREEMPTION_LEDGER.c.round_id,
    PREEMPTION_LEDGER.c.victim,
)
Index("preemption_ledger_preemptor", PREEMPTION_LEDGER.c.preemptor)
Index("preemption_ledger_victim", PREEMPTION_LEDGER.c.victim)

QUEUE_HISTORY = Table(
    "queue_history",
    METADATA,
    _key("generation", Integer),
    _key("cluster_queue"),
    _key("minute", BigInteger),
    _column("submitted", BigInteger),
    _column("admitted", BigInteger),
    _column("evicted", BigInteger),
    _column("finished", BigInteger),
)
Index("queue_history_minute", QUEUE_HISTORY.c.generation, QUEUE_HISTORY.c.minute)

WORKLOAD_POD = Table(
    "workload_pod",
    METADATA,
    _key("generation", Integer),
    _key("workload"),
    _key("attempt", BigInteger),
    _key("pod_set"),
    _key("pod_index", BigInteger),
    _key("run", BigInteger),
    _column("is_newest", Boolean),
    Column("rank", BigInteger),
    _column("state", BYTEWISE),
    _column("node", BYTEWISE),
    Column("exit_code", BigInteger),
    Column("signal", BigInteger),
    Column("reason", Text),
    _column("message", Text),
    Column("started_at", BigInteger),
    Column("ready_at", BigInteger),
    Column("finished_at", BigInteger),
    _column("result", Text),
)

PREEMPTION_VICTIM = Table(
    "preemption_victim",
    METADATA,
    _key("generation", Integer),
    _key("round"),
    _key("victim"),
    _column("position", BigInteger),
    _column("committed_at", BigInteger),
    _column("preemptor", BYTEWISE),
    _column("preemptor_priority", BigInteger),
    _column("preemptor_queue", BYTEWISE),
    _column("preemptor_cohort", BYTEWISE),
    _column("victim_queue", BYTEWISE),
    _column("victim_cohort", BYTEWISE),
    _column("rule", BYTEWISE),
    _column("gpu_seconds", BigInteger),
    _column("is_first", Boolean),
    _column("is_first_of_queue", Boolean),
    _column("is_first_of_rule", Boolean),
)
Index(
    "preemption_victim_committed_at",
    PREEMPTION_VICTIM.c.generation,
    PREEMPTION_VICTIM.c.committed_at,
)

WRITE_PROBE = Table("write_probe", METADATA, _column("filler", Text))

EXECUTOR_LEASE = Table(
    "executor_lease",
    METADATA,
    _key("executor"),
    _column("epoch", BigInteger),
    _column("renewed_at", BigInteger),
    _column("expires_at", BigInteger),
    _column("running_pods", BigInteger),
)

WEBHOOK_SECRET = Table(
    "webhook_secret",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    _column("webhook", BYTEWISE),
    _column("secret", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default="now"),
    Column("expires_at", DateTime(timezone=True)),
)
Index("webhook_secret_of", WEBHOOK_SECRET.c.webhook)

CAUSE_RECORD = Table(
    "cause_record",
    METADATA,
    _key("key"),
    _key("opened_at", BigInteger),
    Column("closed_at", BigInteger),
    _column("kind", BYTEWISE),
    _column("severity", BYTEWISE),
    _column("title", Text),
    _column("unit", BYTEWISE),
    _column("count", BigInteger),
    _column("gpu_seconds", BigInteger),
    _column("link", Text),
)
Index("cause_record_closed_at", CAUSE_RECORD.c.closed_at)

CAUSE_RECORDER = Table(
    "cause_recorder",
    METADATA,
    _key("id", Boolean),
    _column("holder", BYTEWISE),
    _column("expires_at", DateTime(timezone=True)),
)

SAVED_VIEW = Table(
    "saved_view",
    METADATA,
    _key("owner"),
    _key("name"),
    _column("query", Text),
    _column("is_shared", Boolean),
    _column("saved_at", BigInteger),
)

API_SERVICE = Table(
    "api_service",
    METADATA,
    Column("id", Boolean, primary_key=True, server_default="true"),
    _column("served_at", BigInteger),
)


def is_ours(name: str | None, kind: str, parent: Any) -> bool:
    """Whether Alembic should compare something: not the partitions of the log."""
    del parent
    return kind != "table" or name in METADATA.tables
