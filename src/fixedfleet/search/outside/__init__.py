"""Outside solvers as searches; only the file of one that is chosen is imported."""
