"""The API fuzzed from its own description: whatever is sent, it answers as declared."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis")

from schemathesis import GenerationMode, checks  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fixedfleet.serve.app import create_app  # noqa: E402
from fixedfleet.serve.settings import Settings  # noqa: E402

EXAMPLES = int(os.environ.get("FIXEDFLEET_FUZZ_EXAMPLES", 25))
CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
CHOOSY = (
    ("/instances", "post"),
    ("/plans", "post"),
    ("/plans", "get"),
    ("/plans/{id}/plan.{format}", "get"),
)
# Every operation with what its description allows; those that do not take everything,
# with what it does not allow too.
OPERATIONS = [
    (path, method, mode)
    for path, operations in create_app(Settings()).openapi()["paths"].items()
    for method in operations
    for mode in GenerationMode
    if mode == GenerationMode.POSITIVE or (path, method) in CHOOSY
]


@pytest.fixture(scope="module")
def api(make_client, order):
    """The description of a service, and the id of a plan in it."""
    with make_client(queue=10_000, jobs_per_client=10_000) as client:
        known = client.post("/plans", json=order()).json()["id"]
        yield schemathesis.openapi.from_url(f"{client.base_url}openapi.json"), known


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_every_answer_is_one_that_is_declared(api, path, method, mode):
    """No request gets a 5xx, or a status, header or body that is not described."""
    schema, known = api

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def fuzz(case):
        case.call_and_validate(checks=CHECKS, timeout=60)
        if "id" in case.path_parameters:  # none that is drawn is a plan's
            case.path_parameters["id"] = known
            case.call_and_validate(checks=CHECKS, timeout=60)

    fuzz()
