"""Methods × sets of instances × limits into rows, and rows into tables."""

from fixedfleet.evaluate.methods import Answer, Method, get_method
from fixedfleet.evaluate.metrics import Summary, summaries, summarise
from fixedfleet.evaluate.rows import Results, Row
from fixedfleet.evaluate.run import EvaluationSummary, evaluate
from fixedfleet.evaluate.sets import InstanceSet, get_set

__all__ = [
    "Answer",
    "EvaluationSummary",
    "InstanceSet",
    "Method",
    "Results",
    "Row",
    "Summary",
    "evaluate",
    "get_method",
    "get_set",
    "summaries",
    "summarise",
]
