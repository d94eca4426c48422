"""Users, tokens, rights, and redaction of what a user may not see."""
