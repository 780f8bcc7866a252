"""The binary in its two ways to start: `launch` before workers of the laboratory, `serve` before its own."""

from __future__ import annotations

import os

import anthropic
import openai
from lab import *


class Launched(Gateway):
    """`smg launch`; leaving the block fails if a sanitizer had something to say."""

    async def __aexit__(self, *exc) -> None:
        await super().__aexit__(*exc)
        reports = [line for line in self.log.splitlines() if "Sanitizer" in line or "runtime error:" in line]
        if reports and not exc[0]:
            raise AssertionError(f"{reports[0]}\n{self.log[-10000:]}")


class Echo(Launched):
    """`smg serve --backend echo`: the gateway in front of its two built-in workers."""

    def argv(self) -> list[str]:
        flags = super().argv()[len(gateway_command()):]
        return [os.environ["SMG_BINARY"], "serve", "--backend", "echo", *flags]

    async def _ready(self) -> None:
        await super()._ready()
        await self.wait_for(lambda ws: len(ws) == 2 and all(w["is_healthy"] for w in ws))

    def openai(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"http://{HOST}:{self.port}/v1", api_key="unused", max_retries=0)

    def anthropic(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(base_url=f"http://{HOST}:{self.port}", api_key="unused", max_retries=0)

    async def idle(self) -> None:
        """Wait until no worker has a request any more."""
        await self.wait_for(lambda ws: all(w["load"] == 0 for w in ws))


def user(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]
