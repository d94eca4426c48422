"""Bearer tokens on Postgres."""

from typing import Any

import msgspec
from psycopg.types.json import Jsonb

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.access.identity import Token

_FIELDS = Token.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)


class PostgresTokens:
    """Fills the port `Tokens`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def all(self) -> list[Token]:
        """Every token, by name."""
        with connection_of(self._pool) as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM token ORDER BY name").fetchall()
        return [_token(row) for row in rows]

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists."""
        values = msgspec.to_builtins(token)
        values["namespaces"] = Jsonb(values["namespaces"])
        places = ", ".join(f"%({name})s" for name in _FIELDS)
        query = f"INSERT INTO token ({_COLUMNS}) VALUES ({places}) ON CONFLICT DO NOTHING"
        with connection_of(self._pool) as connection:
            return connection.execute(query, values).rowcount == 1

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        with connection_of(self._pool) as connection:
            return connection.execute("DELETE FROM token WHERE name = %s", (name,)).rowcount == 1


def _token(row: tuple[Any, ...]) -> Token:
    return msgspec.convert(dict(zip(_FIELDS, row, strict=True)), Token)
