"""Executors: assignments compared with running pods, a journal of reports, and the substrates."""
