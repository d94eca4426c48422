"""Commands that run and maintain an installation: `up`, `migrate`, `snapshot`, `doctor`."""
