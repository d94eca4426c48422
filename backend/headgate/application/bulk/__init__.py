"""Bulk actions on workloads: selected by query, frozen, previewed, executed, undone."""
