"""How uploads past the limit are refused."""

import pytest

from binary import *
from uploads import *

LIMIT = 3000
BUFFERED = ("--retry-max-retries", "2", "--retry-initial-backoff-ms", "1", "--max-payload-size", LIMIT)


@pytest.mark.parametrize("path", [CHAT, "/generate", "/workers"])
async def test_a_chunked_upload_past_the_limit_is_refused_in_json(path):
    """Ruling 11: on every route."""
    async with Worker() as w, Launched(*BUFFERED, workers=[w]) as g:
        answer = await post_chunked(g, path, bytes(LIMIT + 1))
        assert (answer.status, answer.error_code) == (413, "request_body_too_large")
        assert answer.json()["error"]["message"] == f"Request body exceeded {LIMIT} bytes"
        announced = await g.post(path, body=bytes(LIMIT + 1))
        assert (announced.status, announced.error_code, announced.body) == (413, None, b"length limit exceeded")
