"""Commands as a person gives them, and what they answer."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from headgate.cli.main import app, hoisted


class Invoker:
    """Runs `headgate` with words as on a command line."""

    def __call__(self, *words: str, code: int = 0, given: str | None = None) -> Result:
        """The result, which must have that exit code."""
        result = CliRunner().invoke(app, hoisted(words), input=given)
        assert result.exit_code == code, f"{result.exit_code}: {result.output}"
        return result

    def json(self, *words: str) -> Any:
        """What a command writes with `-o json`."""
        return json.loads(self(*words, "-o", "json").stdout)
