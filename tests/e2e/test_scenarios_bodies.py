"""Rows A15 to A18 of the scenarios: request bodies reach the worker as they were sent, or not at all."""

import pytest

from conformance.uploads import ROUTES
from scenario import *

POLICIES = ["random", "round_robin", "passthrough", "power_of_two", "least_load", "cache_aware", "prefix_hash",
            "consistent_hashing", "manual"]
EXTRAS = (b',"return_token_ids":true,"chat_template_kwargs":{"enable_thinking":false},'
          b'"vllm_xargs":{"a":[1,{"b":null}]},"max_completion_tokens":64,"stream":true,'
          b'"stream_options":{"include_usage":true},"x-\\u0061":1}')


def extended(body: bytes, extras: bytes) -> bytes:
    return body[:-1] + extras


@pytest.mark.parametrize("policy", POLICIES)
async def test_a15_unknown_fields_pass_under_every_policy(policy):
    body = extended(BODY, EXTRAS)
    async with scene(*BUFFERED, workers=2, policy=policy) as row:
        assert (await row.post(body)).status == 200
        assert [seen.body for seen in row.requests] == [body]


@PATHS
async def test_a15_unknown_fields_pass_on_every_route(path):
    async with scene(*path) as row:
        for route in (CHAT, "/v1/completions", "/generate", "/v1/embeddings", "/v1/messages", "/v1/classify"):
            body = extended(json.dumps(ROUTES[route]).encode(), EXTRAS)
            assert (await row.post(body, route)).status == 200, route
            assert row.w.seen[-1].body == body, route
            assert row.w.seen[-1].json() == json.loads(body)


NUMBERS = [b"9007199254740993", b"18446744073709551615", b"-9223372036854775808", b"1000000000000000"]
UNKNOWN = [b"1e-7", b"1E+2", b"-0.0", b"1.0", b"12345678901234567890123", b"1e400", *NUMBERS]
ROWS_A16 = pytest.mark.parametrize("flags", [
    (*BUFFERED, "--model-alias", "alias=m"), (*BUFFERED, "--policy", "cache_aware"), STREAMED,
], ids=["alias", "policy", "streamed"])


@ROWS_A16
async def test_a16_numbers_keep_their_digits(flags):
    model = b"alias" if "--model-alias" in flags else b"m"
    async with scene(*flags) as row:
        for seed in NUMBERS:
            extras = b",".join(b'"u%d":%s' % (i, n) for i, n in enumerate(UNKNOWN))
            body = extended(BODY, b',"seed":%s,"temperature":0.7,%s}' % (seed, extras))
            asked = body.replace(b'"model":"m"', b'"model":"%s"' % model)
            row.sent.add(body)
            answer = await row.g.post(CHAT, body=asked)
            assert answer.status == 200, answer.body
            assert row.w.seen[-1].body == body


BROKEN = {
    "lone-high": b'"\\ud83d"',
    "lone-low": b'"x \\ude00 y"',
    "high-and-letter": b'"\\ud83d\\u0041"',
    "raw-control": b'"\x01"',
    "invalid-utf-8": b'"\xc3\x28"',
}
SOUND = {"pair": b'"\\ud83d\\ude00"', "nul": b'"\\u0000"'}


def saying(content: bytes) -> bytes:
    return BODY.replace(b'"hi"', content)


async def test_a17_broken_text_is_refused_where_it_is_read():
    async with scene(*BUFFERED) as row:
        for name, content in BROKEN.items():
            answer = await row.g.post(CHAT, body=saying(content))
            assert answer.status == 400, name
            assert answer.json()["error"]["message"] and "\ufffd" not in answer.body.decode()
        assert not row.w.seen
        for name, content in SOUND.items():
            assert (await row.post(saying(content))).status == 200, name
            assert row.w.seen[-1].body == saying(content)


async def test_a17_broken_text_passes_where_nobody_reads_it():
    async with scene(*STREAMED) as row:
        for content in [*BROKEN.values(), *SOUND.values()]:
            assert (await row.post(saying(content))).status == 200
            assert row.w.seen[-1].body == saying(content)


# A18 -----------------------------------------------------------------------------


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    return BODY[:-1] + b',"x":' + opening * depth + b"1" + closing * depth + b"}"


def deep_messages(depth: int) -> bytes:
    return b'{"model":"m","messages":' + b"[" * depth + b"]" * depth + b"}"


def depth_cases(depths: list[int]) -> list[bytes]:
    return [nested(d, *brackets) for d in depths for brackets in ((b"[", b"]"), (b'{"a":', b"}"))]


async def test_a18_nesting_is_limited_where_it_is_read():
    """Depth 128 with the outermost object passes, more than 1024 does not (ruling 3)."""
    async with scene(*BUFFERED) as row:
        for body in depth_cases([126, 127]):
            assert (await row.post(body)).status == 200
        before = len(row.w.seen)
        for body in [*depth_cases([1024, 1025]), deep_messages(2000), BODY[:-1] + b',"x":' + b"[" * 1024]:
            answer = await row.g.post(CHAT, body=body)
            assert answer.status == 400 and "error" in answer.json(), body[-40:]
        assert len(row.w.seen) == before


@pytest.mark.memory
async def test_a18_a_million_brackets_twenty_times_at_once():
    # Longer ones than the limit on buffered bodies, which are read all the same for their policy.
    bodies = [*depth_cases([100_000]), deep_messages(1_000_000), nested(1_000_000, b"[", b"]"),
              BODY[:-1] + b',"x":' + b"[" * 1_000_000]
    async with scene(*BUFFERED, policy="cache_aware") as row:
        async def refused(body: bytes) -> None:
            assert (await row.g.post(CHAT, body=body)).status == 400

        await asyncio.gather(*(refused(body) for body in bodies * 4))
        settled = row.g.rss_bytes()
        for _ in range(3):
            await asyncio.gather(*(refused(body) for body in bodies * 4))
        assert row.g.rss_bytes() - settled < 24 * MIB
        assert not row.w.seen


async def test_a18_nesting_passes_where_nobody_reads_it():
    async with scene(*STREAMED) as row:
        bodies = [*depth_cases([100_000]), nested(1_000_000, b"[", b"]"), deep_messages(1_000_000),
                  BODY[:-1] + b',"x":' + b"[" * 100_000]
        answers = await asyncio.gather(*(row.post(body) for body in bodies * 2))
        assert [a.status for a in answers] == [200] * len(answers)
