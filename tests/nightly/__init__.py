"""The nightly run: properties and simulations at full depth, in parts of at most 45 minutes."""
