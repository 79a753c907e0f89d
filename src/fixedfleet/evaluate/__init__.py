"""Compare methods: run them on sets of instances, and make tables of the results."""

from fixedfleet.evaluate.anytime import plot_anytime
from fixedfleet.evaluate.method_specs import get_method
from fixedfleet.evaluate.methods import METHODS, Answer, Method, Start
from fixedfleet.evaluate.metrics import Summary, summaries, summarise
from fixedfleet.evaluate.pairs import Pair, compare
from fixedfleet.evaluate.rows import Results, Row
from fixedfleet.evaluate.runner import EvaluationSummary, evaluate
from fixedfleet.evaluate.sets import InstanceSet, get_set

__all__ = [
    "METHODS",
    "Answer",
    "EvaluationSummary",
    "InstanceSet",
    "Method",
    "Pair",
    "Results",
    "Row",
    "Start",
    "Summary",
    "compare",
    "evaluate",
    "get_method",
    "get_set",
    "plot_anytime",
    "summaries",
    "summarise",
]
