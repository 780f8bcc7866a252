"""Which settings start the gateway, where a mistake would show only later, or never."""

import pytest

from binary import *
from uploads import CHAT

OPEN_SETTINGS = ("SMG_API_KEY", "SMG_CONTROL_PLANE_API_KEYS", "CONTROL_PLANE_API_KEYS", "JWT_ISSUER", "JWT_AUDIENCE",
                 "JWT_JWKS_URI", "SMG_JWT_ROLE_MAPPING")


@pytest.mark.parametrize("variable", OPEN_SETTINGS)
async def test_a_key_that_came_out_empty_does_not_open_the_gateway(variable):
    """Ruling 26."""
    with pytest.raises(RuntimeError, match="exited with 1"):
        async with Launched(env={variable: ""}):
            pass


async def test_other_empty_variables_count_as_unset():
    async with Launched(env={"SMG_REQUEST_TIMEOUT_SECS": "", "SMG_LOG_LEVEL": ""}):
        pass


UNSOUND_RETRIES = ("--retry-max-retries", "0", "--retry-initial-backoff-ms", "0", "--retry-max-backoff-ms", "0",
                   "--retry-backoff-multiplier", "0", "--retry-jitter-factor", "2")
UNSOUND_BREAKERS = ("--cb-failure-threshold", "0", "--cb-success-threshold", "0", "--cb-timeout-duration-secs", "0",
                    "--cb-window-duration-secs", "0")


async def test_what_is_switched_off_needs_no_sound_settings():
    """upstream.md section 4. A worker that switches its own breaker on still has one that closes again."""
    async def serve(ex: Exchange) -> None:
        await ex.read_body()
        await (ex.reply_json({}, 503) if failing else ex.reply_json(chat_answer()))

    failing = True
    async with Worker(handler=serve) as w, Launched(
            "--disable-retries", *UNSOUND_RETRIES, "--disable-circuit-breaker", *UNSOUND_BREAKERS) as g:
        await g.post("/workers", {"url": w.url, "resilience": {"disable_circuit_breaker": False}})
        await g.wait_for(lambda ws: len(ws) == 1 and ws[0]["is_healthy"])
        assert (await g.post(CHAT, chat())).status == 503 and len(w.seen) == 1
        answer = await g.post(CHAT, chat())
        assert (answer.status, answer.error_code) == (503, "no_available_workers")
        failing = False

        async def closed() -> bool:
            return (await g.post(CHAT, chat())).status == 200
        await eventually(closed)
        assert (await g.metrics()).value("smg_worker_cb_state") == 0
