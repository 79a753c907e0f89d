"""Plan tours: decide whether the fleet suffices, make an initial plan, then search."""
