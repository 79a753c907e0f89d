"""Searches, which improve a plan without exceeding the fleet."""

from fixedfleet.deadline import Deadline
from fixedfleet.search.improve import SearchResult, improve, run_search
from fixedfleet.search.searches import SEARCHES, Abilities, load_search, name_of
from fixedfleet.search.task import Search, SearchTask, better, drop_excess

__all__ = [
    "SEARCHES",
    "Abilities",
    "Deadline",
    "Search",
    "SearchResult",
    "SearchTask",
    "better",
    "drop_excess",
    "improve",
    "load_search",
    "name_of",
    "run_search",
]
