"""The Celery processes: which tasks there are and what each calls. No rules and no SQL."""
