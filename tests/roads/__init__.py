"""A package, so that its road server ends with its last test."""
