"""Bearer tokens and what they allow."""
