"""The API keeps to its own description, whatever is sent to it."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

from fixedfleet.serve import jobs
from fixedfleet.serve.app import create_app
from fixedfleet.serve.settings import Settings

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("FIXEDFLEET_FUZZ_EXAMPLES", 25))
CHOOSY = (
    ("/instances", "post"),
    ("/plans", "post"),
    ("/plans", "get"),
    ("/plans/{id}/plan.{format}", "get"),
)
# Every operation is asked what its description allows. The operations that refuse some
# requests are also asked what their description does not allow.
OPERATIONS = [
    (path, method, mode)
    for path, operations in create_app(Settings(), None).openapi()["paths"].items()
    for method in operations
    for mode in ("positive", "negative")
    if mode == "positive" or (path, method) in CHOOSY
]


@pytest.fixture(scope="module")
def api(make_client, order):
    """The description of a service, and the id of one of its plans."""
    # Imported here, because it takes seconds and `make check` leaves this file out.
    schemathesis = pytest.importorskip("schemathesis")
    with pytest.MonkeyPatch.context() as patch, make_client() as client:
        patch.setattr(jobs, "MAX_QUEUED", 10_000)
        patch.setattr(jobs, "JOBS_PER_CLIENT", 10_000)
        known = client.post("/plans", json=order()).json()["id"]
        yield schemathesis.openapi.from_url(f"{client.base_url}openapi.json"), known


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_every_answer_is_declared(api, path, method, mode):
    """No request gets a 5xx, or a status, header or body that is not declared."""
    from schemathesis import GenerationMode, checks
    from schemathesis.specs.openapi import checks as declared

    schema, known = api
    wanted = [
        checks.not_a_server_error,
        declared.status_code_conformance,
        declared.content_type_conformance,
        declared.response_headers_conformance,
        declared.response_schema_conformance,
    ]

    @given(case=schema[path][method].as_strategy(generation_mode=GenerationMode(mode)))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def fuzz(case):
        case.call_and_validate(checks=wanted, timeout=60)
        if "id" in case.path_parameters:  # a random id is not the id of a plan
            case.path_parameters["id"] = known
            case.call_and_validate(checks=wanted, timeout=60)

    fuzz()
