"""The version of this program, without a search for the package's metadata, which takes longer than a command."""

VERSION = "0.1.0"  # as in pyproject.toml; a test compares them
