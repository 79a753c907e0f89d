"""The HTTP service: worker processes make plans, which are kept in a data folder."""

from fixedfleet.serve.settings import Settings

__all__ = ["Settings"]
