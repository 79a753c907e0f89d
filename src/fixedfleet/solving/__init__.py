"""
``solve`` and ``solve_batch``: assess the fleet, make an initial plan, then search.
"""
