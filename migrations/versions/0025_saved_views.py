"""Views of lists of the page that users saved; they are of users and not of the cluster.

Revision ID: 0025
Revises: 0024
Create Date: 2026-11-27
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE saved_view (
            owner text COLLATE "C" NOT NULL,
            name text COLLATE "C" NOT NULL,
            query text NOT NULL,
            is_shared boolean NOT NULL,
            saved_at bigint NOT NULL,
            PRIMARY KEY (owner, name)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE saved_view")
