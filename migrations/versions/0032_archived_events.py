"""What stands in the archive of the log: objects of events, and where each of their frames lies.

Revision ID: 0032
Revises: 0031
Create Date: 2026-11-27
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

UPGRADE = """
    CREATE TABLE archived_partition (
        first bigint CONSTRAINT archived_partition_pkey PRIMARY KEY,
        last bigint NOT NULL,
        log text NOT NULL,
        digest text NOT NULL,
        stored_bytes bigint NOT NULL,
        archived_at bigint NOT NULL
    );
    SELECT protect_from_change('archived_partition');
    CREATE TABLE archived_frame (
        first bigint CONSTRAINT archived_frame_pkey PRIMARY KEY,
        last bigint NOT NULL,
        archived_partition bigint NOT NULL,
        place bigint NOT NULL,
        length integer NOT NULL,
        first_at bigint NOT NULL,
        last_at bigint NOT NULL,
        types text[] NOT NULL,
        streams bytea NOT NULL
    );
    -- Of a filter a few bytes are read, which a compressed value does not allow.
    ALTER TABLE archived_frame ALTER COLUMN streams SET STORAGE EXTERNAL;
    SELECT protect_from_change('archived_frame');
    CREATE TABLE log_archive (
        id boolean CONSTRAINT log_archive_pkey PRIMARY KEY DEFAULT true,
        checked_at bigint NOT NULL,
        failure text NOT NULL,
        failed_at bigint,
        CONSTRAINT log_archive_id_check CHECK (id)
    );
"""
DOWNGRADE = """
    DO $$
    BEGIN
        IF EXISTS (SELECT FROM archived_partition) THEN
            RAISE EXCEPTION 'archived events are read by this release alone: they would be missing';
        END IF;
    END
    $$;
    DROP TABLE log_archive, archived_frame, archived_partition;
"""


def upgrade() -> None:
    op.get_bind().connection.driver_connection.execute(UPGRADE)


def downgrade() -> None:
    op.get_bind().connection.driver_connection.execute(DOWNGRADE)
