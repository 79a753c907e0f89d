"""Plan tours: the verdict on the fleet, then an initial plan, then a search."""
