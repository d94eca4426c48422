"""Commands that run and look after an installation: `up`, `migrate`, `doctor`."""
