"""Commands as a person gives them, and what they answer."""

import json
from functools import cache
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from headgate.cli.main import app, hoisted

# A process builds its commands once, which takes longer than most commands do; so do these tests.
pytest.MonkeyPatch().setattr("typer.testing._get_command", cache(get_command))


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
