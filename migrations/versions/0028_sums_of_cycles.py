"""Figures of cycle records as columns, so that they are summed without reading the records.

Records of before have none and are left out of sums; they are for people and are forgotten soon.

Revision ID: 0028
Revises: 0027
Create Date: 2026-11-27
"""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

COLUMNS = {
    "is_committed": "boolean",
    "cycles": "integer",
    "heads": "integer",
    "decisions": "integer",
    "planning_microseconds": "bigint",
    "commit_microseconds": "bigint",
}


def upgrade() -> None:
    added = ", ".join(f"ADD COLUMN {name} {of_type}" for name, of_type in COLUMNS.items())
    op.execute(f"ALTER TABLE cycle_record {added}")


def downgrade() -> None:
    dropped = ", ".join(f"DROP COLUMN {name}" for name in COLUMNS)
    op.execute(f"ALTER TABLE cycle_record {dropped}")
