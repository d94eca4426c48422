"""The command line `headgate`: families of commands that call the API or run an installation."""

import sys

# httpx imports a command line of its own, with click, rich and Pygments, unless that cannot be
# imported: a quarter of the time that a command takes to start.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type] # None refuses the import
