"""Under which heading each command stands in the help of the program."""

SECTIONS = {
    "Work": ("submit", "why", "timeline", "wait", "simulate", "cancel", "hold", "release"),
    "Objects": ("apply", "lint", "get", "list", "describe", "delete", "history", "revert"),
    "What happens": ("watch", "events", "preemptions", "evictions", "cycles"),
    "Who uses what": ("tree", "top", "usage", "topology"),
    "Helping and stopping": (
        "clinic",
        "requeue",
        "activate",
        "deactivate",
        "bulk",
        "batch",
        "stop",
        "resume",
        "drain",
        "cordon",
        "uncordon",
        "node",
        "protect",
        "gate",
    ),
    "Trying things out": ("backtest", "replay", "executor"),
    "The installation": ("up", "doctor", "migrate", "verify", "log", "token", "whoami", "version"),
}
"""By what somebody wants to do; each command stands in one of them (tests/cli/test_help.py)."""
