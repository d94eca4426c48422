"""Pods of workloads that have ended leave their read model; their events tell of them.

Revision ID: 0030
Revises: 0029
Create Date: 2026-11-27
"""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# Workloads of which the read model has folded the end; keys are as migration 0029 made them.
UPGRADE = """
    CREATE TEMPORARY TABLE ended_workload ON COMMIT DROP AS
    SELECT follower.generation, workload.stream, workload.namespace || '/' || workload.name AS key
    FROM follower, workload
    WHERE follower.name = 'workload_pod' AND workload.finished_at IS NOT NULL AND (
        workload.position <= follower.position OR follower.position >= (
            SELECT max(event.position) FROM event_whole AS event
            WHERE event.stream = workload.stream AND event.type = 'workload.finished'));
    ANALYZE ended_workload;
    DELETE FROM workload_pod USING ended_workload AS ended
    WHERE workload_pod.workload = ended.key COLLATE "C"
        AND workload_pod.generation = ended.generation;
    DELETE FROM follower_memory USING (
        SELECT substr(sha256(convert_to(
            concat_ws(chr(10), 'workload_pod', generation, stream), 'UTF8')), 1, 15) AS key
        FROM ended_workload) AS ended
    WHERE follower_memory.key = ended.key;
"""
# The rows are folded again, with all others.
DOWNGRADE = """
    DELETE FROM workload_pod;
    DELETE FROM follower_memory WHERE follower = 'workload_pod';
    UPDATE follower SET position = 0, chain = NULL WHERE name = 'workload_pod';
"""


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.get_bind().connection.driver_connection.execute(UPGRADE)


def downgrade() -> None:
    op.get_bind().connection.driver_connection.execute(DOWNGRADE)
