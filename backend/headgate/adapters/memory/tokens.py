"""Bearer tokens in memory."""

from headgate.adapters.memory.database import MemoryDatabase
from headgate.application.access.identity import Token


class MemoryTokens:
    """Fills the port `Tokens`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def all(self) -> list[Token]:
        """Every token, by name."""
        with self._database.lock:
            return [token for _, token in sorted(self._database.tokens.items())]

    def add(self, token: Token) -> bool:
        """Keep a token; False if one of that name or digest exists."""
        with self._database.lock:
            known = self._database.tokens.values()
            if any(other.name == token.name or other.digest == token.digest for other in known):
                return False
            self._database.tokens[token.name] = token
            return True

    def remove(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        with self._database.lock:
            return self._database.tokens.pop(name, None) is not None
