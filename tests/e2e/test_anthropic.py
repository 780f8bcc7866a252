"""The official Anthropic client against `smg serve --backend echo`."""

import asyncio

import anthropic
import pytest

from binary import *

TEXT = "The quick brown fox jumps over the lazy dog"


async def test_message():
    async with Echo() as g, g.anthropic() as client:
        message = await client.messages.create(
            model="echo", max_tokens=100,
            messages=[*user("first"), {"role": "assistant", "content": "first"}, *user(TEXT)])
        assert (message.type, message.role, message.model) == ("message", "assistant", "echo")
        assert [block.text for block in message.content] == [TEXT]
        assert message.stop_reason == "end_turn"


async def test_content_blocks():
    async with Echo() as g, g.anthropic() as client:
        message = await client.messages.create(
            model="echo", max_tokens=100,
            messages=[{"role": "user", "content": [{"type": "text", "text": TEXT}]}])
        assert message.content[0].text == TEXT


async def test_message_stream():
    async with Echo() as g, g.anthropic() as client:
        async with client.messages.stream(model="echo", max_tokens=100, messages=user(TEXT)) as stream:
            pieces = [text async for text in stream.text_stream]
            message = await stream.get_final_message()
        assert "".join(pieces) == TEXT and len(pieces) > 1
        assert message.content[0].text == TEXT and message.stop_reason == "end_turn"


async def test_stream_events_come_in_order():
    async with Echo() as g, g.anthropic() as client:
        stream = await client.messages.create(model="echo", max_tokens=100, messages=user(TEXT), stream=True)
        kinds = [event.type async for event in stream]
        assert kinds[:2] == ["message_start", "content_block_start"]
        assert set(kinds[2:-3]) == {"content_block_delta"}
        assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


async def test_unknown_model_is_not_found():
    async with Echo() as g, g.anthropic() as client:
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.create(model="nobody", max_tokens=100, messages=user(TEXT))


async def test_body_without_messages_is_a_bad_request():
    async with Echo() as g, g.anthropic() as client:
        with pytest.raises(anthropic.BadRequestError):
            await client.post("/v1/messages", body={"model": "echo", "max_tokens": 100}, cast_to=object)


async def test_many_at_once_keep_to_themselves():
    async with Echo() as g, g.anthropic() as client:
        async def ask(number: int) -> None:
            text = f"request {number} " + "filler " * number
            async with client.messages.stream(model="echo", max_tokens=100, messages=user(text)) as stream:
                assert "".join([t async for t in stream.text_stream]) == text

        await asyncio.gather(*(ask(number) for number in range(100)))
        await g.idle()
