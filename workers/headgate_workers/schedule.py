"""What upkeep does by itself, and how often; every entry may run twice or late without harm."""

from headgate.application.housekeeping import (
    Chore,
    forget_old_backtests,
    forget_old_cycles,
    forget_old_keys,
    keep_log_ahead,
)

PROJECTION_INTERVAL_SECONDS = 0.25

MAINTENANCE_TASKS = (
    Chore(name="keep the log's next partitions ready", every_seconds=300.0, run=keep_log_ahead),
    Chore(name="forget old idempotency keys", every_seconds=900.0, run=forget_old_keys),
    Chore(name="forget old cycles", every_seconds=900.0, run=forget_old_cycles),
    Chore(name="forget old backtests", every_seconds=900.0, run=forget_old_backtests),
)
