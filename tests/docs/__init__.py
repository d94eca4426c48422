"""The documentation tells the truth: commands run, links lead somewhere, fields are described."""
