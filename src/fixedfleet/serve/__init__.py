"""The HTTP service: plans as jobs in worker processes, kept in a data folder."""

from fixedfleet.serve.settings import Settings

__all__ = ["Settings"]
