"""The official OpenAI client against `smg serve --backend echo`."""

import asyncio

import openai
import pytest

from binary import *

TEXT = "The quick brown fox jumps over the lazy dog"


async def test_chat_completion():
    async with Echo() as g, g.openai() as client:
        answer = await client.chat.completions.create(
            model="echo", messages=[{"role": "system", "content": "Be brief"}, *user("first"),
                                    {"role": "assistant", "content": "first"}, *user(TEXT)])
        assert answer.choices[0].message.role == "assistant"
        assert answer.choices[0].message.content == TEXT
        assert answer.choices[0].finish_reason == "stop"
        assert answer.model == "echo"


async def test_chat_completion_stream():
    async with Echo() as g, g.openai() as client:
        stream = await client.chat.completions.create(model="echo", messages=user(TEXT), stream=True)
        chunks = [chunk async for chunk in stream]
        pieces = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
        assert "".join(pieces) == TEXT and len(pieces) > 1
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"


@pytest.mark.parametrize("route,body", [
    ("/v1/chat/completions", {"messages": user(TEXT)}),
    ("/v1/completions", {"prompt": TEXT}),
])
async def test_stream_ends_with_done(route, body):
    async with Echo() as g:
        response = await g.post(route, {"model": "echo", "stream": True, **body})
        assert response.status == 200 and response.complete
        assert response.header("content-type").startswith("text/event-stream")
        assert response.events()[-1] == "[DONE]" and len(response.events()) > 2


@pytest.mark.parametrize("text", [" ", "one", "a  b\n\nc ", 'quote " backslash \\ tab \t', "žluťoučký 猫 \U0001f600"])
async def test_any_text_comes_back_whole(text):
    async with Echo() as g, g.openai() as client:
        answer = await client.chat.completions.create(model="echo", messages=user(text))
        assert answer.choices[0].message.content == text
        stream = await client.chat.completions.create(model="echo", messages=user(text), stream=True)
        assert "".join([c.choices[0].delta.content or "" async for c in stream if c.choices]) == text


async def test_completion():
    async with Echo() as g, g.openai() as client:
        answer = await client.completions.create(model="echo", prompt=TEXT)
        assert answer.choices[0].text == TEXT
        stream = await client.completions.create(model="echo", prompt=TEXT, stream=True)
        assert "".join([c.choices[0].text async for c in stream if c.choices]) == TEXT


async def test_embeddings():
    async with Echo() as g, g.openai() as client:
        answer = await client.embeddings.create(model="echo", input=TEXT, encoding_format="float")
        assert answer.data[0].embedding and all(isinstance(x, float) for x in answer.data[0].embedding)


async def test_models():
    async with Echo() as g, g.openai() as client:
        assert [model.id async for model in client.models.list()] == ["echo"]


@pytest.mark.parametrize("stream", [False, True])
async def test_large_body(stream):
    """3 MiB is above --max-buffered-request-bytes: the body streams to the worker."""
    messages = [{"role": "system", "content": "word " * (3 * 1024 * 1024 // 5)}, *user(TEXT)]
    async with Echo() as g, g.openai() as client:
        answer = await client.chat.completions.create(model="echo", messages=messages, stream=stream)
        if stream:
            assert "".join([c.choices[0].delta.content or "" async for c in answer if c.choices]) == TEXT
        else:
            assert answer.choices[0].message.content == TEXT
        assert (await g.metrics()).value("smg_router_request_body_path_total", path="streamed") == 1


async def test_large_answer():
    text = "word " * (3 * 1024 * 1024 // 5)
    async with Echo() as g, g.openai() as client:
        answer = await client.chat.completions.create(model="echo", messages=user(text))
        assert answer.choices[0].message.content == text


async def test_unknown_model_is_not_found():
    async with Echo() as g, g.openai() as client:
        with pytest.raises(openai.NotFoundError) as error:
            await client.chat.completions.create(model="nobody", messages=user(TEXT))
        assert error.value.code == "model_not_found"
        assert error.value.response.headers["x-smg-error-code"] == "model_not_found"


@pytest.mark.parametrize("fields", [{"messages": "no list"}, {"messages": user(TEXT), "temperature": "hot"},
                                    {"messages": user(TEXT), "stream": "yes"}], ids=str)
async def test_bad_body_is_a_bad_request(fields):
    async with Echo() as g, g.openai() as client:
        with pytest.raises(openai.BadRequestError) as error:
            await client.post("/chat/completions", body={"model": "echo", **fields}, cast_to=object)
        assert error.value.code == "json_parse_error"


async def test_body_that_is_no_json_is_a_bad_request():
    async with Echo() as g:
        response = await g.post("/v1/chat/completions", body=b'{"model": "echo", ')
        assert (response.status, response.json()["error"]["code"]) == (400, "json_parse_error")


async def test_both_workers_take_their_turns():
    async with Echo() as g, g.openai() as client:
        answers = [await client.chat.completions.with_raw_response.create(model="echo", messages=user(TEXT))
                   for _ in range(4)]
        assert len({a.headers["x-smg-routed-worker-id"] for a in answers}) == 2


async def test_many_at_once_keep_to_themselves():
    async with Echo() as g, g.openai() as client:
        async def ask(number: int) -> None:
            text = f"request {number} " + "filler " * number
            answer = await client.chat.completions.create(model="echo", messages=user(text), stream=number % 2 == 1)
            if number % 2:
                received = "".join([c.choices[0].delta.content or "" async for c in answer if c.choices])
            else:
                received = answer.choices[0].message.content
            assert received == text

        await asyncio.gather(*(ask(number) for number in range(200)))
        await g.idle()


async def test_client_that_leaves_mid_stream_frees_its_worker():
    """The stream is longer than all socket buffers on its way, so it is still on when the client leaves."""
    text = "word " * (1024 * 1024 // 5)
    async with Echo() as g, g.openai() as client:
        stream = await client.chat.completions.create(model="echo", messages=user(text), stream=True)
        await anext(aiter(stream))
        await g.wait_for(lambda ws: sum(w["load"] for w in ws) == 1)
        await stream.close()
        await g.idle()
