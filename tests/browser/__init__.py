"""A package, so that its server and browser end with its last test."""
