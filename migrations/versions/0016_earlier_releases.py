"""Refuses what releases append that end in a loop on events of later ones (ADR 0028).

Revision ID: 0016
Revises: 0015
Create Date: 2026-11-23
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# The code is that of an outage: those releases answer 503 with the text, and workers wait.
REFUSING = """
    CREATE OR REPLACE FUNCTION log_append(runs jsonb, bodies bytea) RETURNS jsonb
    LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'this release of Headgate is too old for the database: upgrade it'
            USING ERRCODE = 'cannot_connect_now';
    END
    $$
"""
PASSING_ON = """
    CREATE OR REPLACE FUNCTION log_append(runs jsonb, bodies bytea) RETURNS jsonb LANGUAGE sql AS $$
        SELECT log_append(runs, bodies, '[]')
    $$
"""


def upgrade() -> None:
    op.execute(REFUSING)


def downgrade() -> None:
    op.execute(PASSING_ON)
