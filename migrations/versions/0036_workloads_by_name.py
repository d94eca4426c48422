"""Workloads of a phase are listed by name in the order of an index.

A page of them read every workload and sorted all that matched. The phase stands in the index as an
expression: else the newest of a phase would be read from it, and all of the phase be sorted.

Revision ID: 0036
Revises: 0035
Create Date: 2026-11-27
"""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

NAME = "workload_phase_name"


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.execute(f"CREATE INDEX {NAME} ON workload ((phase || ''), name)")


def downgrade() -> None:
    op.execute(f"DROP INDEX {NAME}")
