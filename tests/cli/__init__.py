"""A package, so that its tests can share cli_helpers."""
