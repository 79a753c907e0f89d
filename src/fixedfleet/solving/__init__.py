"""``solve`` and ``solve_batch``: verdict on the fleet, initial plan, then search."""
