"""Anything the schema allows, and much that it does not, gets an answer that is no fault of the server's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.server.stage import Live

if TYPE_CHECKING:
    import schemathesis


@pytest.mark.slow
def test_no_request_makes_the_server_fail(library: Live) -> None:
    import schemathesis
    from schemathesis.checks import CHECKS

    schema = schemathesis.openapi.from_url(f"{library.url}/openapi.json")
    wanted = CHECKS.get_by_names(["not_a_server_error", "content_type_conformance", "response_schema_conformance"])
    tried = 0
    bounded = settings(
        max_examples=12,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def check(case: schemathesis.Case) -> None:
        nonlocal tried
        tried += 1
        case.call_and_validate(checks=wanted, timeout=30)

    for found in schema.get_all_operations():
        bounded(given(case=found.ok().as_strategy())(check))()
    assert tried > 60


def test_the_description_has_examples_and_answers(library: Live) -> None:
    with library.client() as client:
        schema = client.get("/openapi.json").json()
        assert schema["components"]["schemas"]["AskRequest"]["examples"]
        assert schema["components"]["schemas"]["ResponseRequest"]["examples"]
        spoken = ("/v1/chat/completions", "/v1/responses", "/v1/models")
        for path in ("/api/ask", "/api/runs", "/api/runs/{run}/events", "/api/search", *spoken):
            for operation in schema["paths"][path].values():
                assert operation["description"]
        page = client.get("/docs").text
        assert "/v1/chat/completions" in page
        assert "/v1/responses" in page
        assert "Who invented the telescope?" in page
