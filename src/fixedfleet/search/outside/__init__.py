"""Outside solvers as searches. A module is imported only if its solver is chosen."""
