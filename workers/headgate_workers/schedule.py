"""Maintenance tasks of upkeep and their intervals; each may run twice or late without harm."""

from headgate.application.maintenance import (
    MaintenanceTask,
    create_log_partitions,
    forget_empty_tallies,
    forget_old_cycles,
    forget_old_keys,
    forget_old_simulations,
    train_dictionary,
)

PROJECTION_INTERVAL_SECONDS = 0.25

MAINTENANCE_TASKS = (
    MaintenanceTask(
        name="keep the log's next partitions ready", every_seconds=300.0, run=create_log_partitions
    ),
    MaintenanceTask(name="forget old idempotency keys", every_seconds=900.0, run=forget_old_keys),
    MaintenanceTask(name="forget old cycles", every_seconds=900.0, run=forget_old_cycles),
    MaintenanceTask(name="forget old simulations", every_seconds=900.0, run=forget_old_simulations),
    MaintenanceTask(name="forget empty tallies", every_seconds=3600.0, run=forget_empty_tallies),
    MaintenanceTask(name="train a dictionary", every_seconds=600.0, run=train_dictionary),
)
