"""The description of the API beyond what FastAPI finds out by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from fixedfleet.serve import schema

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["complete", "errors", "request_body"]

_ERRORS = {
    400: "The body is not what its type says.",
    401: "No token, or none of this server's.",
    403: "A page of another site asks, or the host is not this machine's name.",
    404: "There is no such thing.",
    408: "The body did not arrive in time.",
    409: "Not in the state the plan is in.",
    413: "The body is too long.",
    415: "A body of a type that is not understood.",
    422: "The request is wrong, or beyond a limit.",
    429: "The client has as many plans in the making, or streams open, as it may.",
    503: "The server is full, being stopped or cannot read its plans: ask again after "
    "Retry-After seconds.",
}
_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer"},
    }
}
_CSV = "name,x,y,demand\ndepot,0,0,\nCafé,1,2,3\nShop,-2,1,4\n"
_EXAMPLE = {"text": _CSV, "vehicles": 1, "capacity": 10}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Declare an operation's refusals; 401, 403 and 503 are any operation's."""
    declared: dict[int | str, dict[str, Any]] = {}
    for status in sorted({401, 403, 503, *statuses}):
        declared[status] = {"model": schema.ErrorDoc, "description": _ERRORS[status]}
        if status in (429, 503):
            declared[status]["headers"] = _RETRY_AFTER
    return declared


def request_body(model: type[schema.InstanceRequest]) -> dict[str, Any]:
    """Declare the bodies that an operation reads by itself."""
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    text = {"schema": {"type": "string"}, "example": _CSV}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": reference, "example": _EXAMPLE},
                "text/csv": text,
                "text/plain": text,
            },
        }
    }


def complete(app: FastAPI, protected: bool) -> None:
    """
    Add to an application's description what is read and written by hand.

    Parameters
    ----------
    app
        The application.
    protected
        Whether a token must be shown.
    """
    generate = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            components = document.setdefault("components", {})
            components.setdefault("schemas", {}).update(_further_schemas())
            if protected:
                scheme = {"type": "http", "scheme": "bearer"}
                components["securitySchemes"] = {"token": scheme}
                document["security"] = [{"token": []}]
                document["paths"]["/health"]["get"]["security"] = []  # a sign of life
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _further_schemas() -> dict[str, Any]:
    models = (
        schema.InstanceFile,
        schema.InstanceRequest,
        schema.PlanRequest,
        schema.ImprovedDoc,
    )
    _, document = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
    )
    found: dict[str, Any] = document["$defs"]
    return found
