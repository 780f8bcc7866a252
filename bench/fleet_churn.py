#!/usr/bin/env python3
"""How the worker control plane does with many workers: how soon a large fleet is registered by the API, and whether
adding and removing workers under load loses a request, or leaves memory or series of metrics behind.

    bench/fleet_churn.py [--binary build/release/smg] [--workers 1000] [--cycles 50] [--batch 100] [-- SMG FLAGS]

Needs nothing but Python. The mock workers listen on ports of their own, in processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

HOST = "127.0.0.1"
ANSWER = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}).encode()
MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
REQUEST = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()


class MockWorker(asyncio.Protocol):
    """Answers each request at once: bodies are small, and come with their heads."""

    def connection_made(self, transport):
        self.transport, self.input = transport, b""

    def data_received(self, data):
        self.input += data
        if self.input.startswith(b"PRI * HTTP/2.0"):
            return self.transport.close()
        while (end := self.input.find(b"\r\n\r\n")) >= 0:
            head = self.input[:end].lower()
            length = int(match[1]) if (match := re.search(rb"content-length: *(\d+)", head)) else 0
            if len(self.input) < end + 4 + length:
                return
            self.input = self.input[end + 4 + length:]
            path = head.split(b" ", 2)[1].split(b"?")[0]
            known = {b"/health": b"{}", b"/v1/models": MODELS, b"/v1/chat/completions": ANSWER}
            body = known.get(path, b"{}")
            self.transport.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                                 % (b"200 OK" if path in known else b"404 Not Found", len(body), body))


def serve_workers(count: int, ports: multiprocessing.Queue) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        servers = [await loop.create_server(MockWorker, HOST, 0) for _ in range(count)]
        ports.put([server.sockets[0].getsockname()[1] for server in servers])
        await asyncio.Event().wait()

    asyncio.run(main())


def start_workers(count: int, processes: int) -> tuple[list[str], list[multiprocessing.Process]]:
    ports: multiprocessing.Queue = multiprocessing.Queue()
    share = -(-count // processes)
    running = [multiprocessing.Process(target=serve_workers, args=(share, ports), daemon=True)
               for _ in range(processes)]
    for process in running:
        process.start()
    found = [port for _ in running for port in ports.get()]
    return [f"http://{HOST}:{port}" for port in found[:count]], running


class Connection:
    """A kept-alive connection to the gateway."""

    def __init__(self, port: int) -> None:
        self.port, self.writer = port, None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(HOST, self.port, limit=1 << 24)
        self.writer.write(b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                          % (method.encode(), path.encode(), len(body), body))
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head.lower())
        answer = await self.reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in head.lower():
            self.writer.close()
            self.writer = None
        return int(head.split(b" ")[1]), answer


def free_port() -> int:
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


class Gateway:
    def __init__(self, binary: str, flags: list[str]) -> None:
        self.port, self.metrics_port = free_port(), free_port()
        self.process = subprocess.Popen(
            [binary, "launch", "--host", HOST, "--port", str(self.port), "--prometheus-host", HOST,
             "--prometheus-port", str(self.metrics_port), "--log-level", "warn", "--shutdown-grace-period-secs", "0",
             *flags], stdout=subprocess.DEVNULL)
        self.control = Connection(self.port)

    async def ready(self) -> None:
        for _ in range(200):
            try:
                return await self.control.ask("GET", "/liveness")
            except OSError:
                self.control.writer = None
                await asyncio.sleep(0.05)
        sys.exit("the gateway does not start")

    async def workers(self) -> list[dict]:
        return json.loads((await self.control.ask("GET", "/workers"))[1])["workers"]

    async def until(self, done, timeout: float = 120) -> list[dict]:
        deadline = time.monotonic() + timeout
        while not done(listed := await self.workers()):
            if time.monotonic() > deadline:
                sys.exit(f"the fleet never got there: {len(listed)} workers")
            await asyncio.sleep(0.1)
        return listed

    async def each(self, method: str, calls: list[tuple[str, bytes]], at_once: int = 16) -> None:
        """Makes control calls over a few connections; all have to be accepted."""
        async def some(share: list[tuple[str, bytes]]) -> None:
            connection = Connection(self.port)
            for path, body in share:
                status, answer = await connection.ask(method, path, body)
                if status not in (200, 202):
                    sys.exit(f"{method} {path}: {status} {answer.decode()}")

        await asyncio.gather(*(some(calls[i::at_once]) for i in range(at_once)))

    async def add(self, urls: list[str]) -> None:
        await self.each("POST", [("/workers", json.dumps({"url": url, "drain_settle_secs": 5}).encode())
                                 for url in urls])

    async def scrape(self) -> tuple[float, int, int]:
        """Milliseconds, bytes, series."""
        since = time.monotonic()
        text = (await Connection(self.metrics_port).ask("GET", "/metrics"))[1]
        took = (time.monotonic() - since) * 1000
        return took, len(text), sum(1 for line in text.splitlines() if line and not line.startswith(b"#"))

    def status(self, name: str) -> int:
        return int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Load:
    """Clients that ask without a pause, and count what they get."""

    def __init__(self, port: int, clients: int) -> None:
        self.answers: dict[str, int] = {}
        self.stopping = False
        self.tasks = [asyncio.create_task(self._ask(Connection(port))) for _ in range(clients)]

    async def _ask(self, connection: Connection) -> None:
        while not self.stopping:
            try:
                status, body = await connection.ask("POST", "/v1/chat/completions", REQUEST)
                result = str(status) if status == 200 else f"{status} {body[:200].decode()}"
            except (OSError, asyncio.IncompleteReadError) as error:
                connection.writer, result = None, repr(error)
            self.answers[result] = self.answers.get(result, 0) + 1

    async def stop(self) -> dict[str, int]:
        self.stopping = True
        await asyncio.gather(*self.tasks)
        return self.answers


async def register_many(gateway: Gateway, urls: list[str]) -> None:
    since, cpu = time.monotonic(), gateway.cpu_seconds()
    await gateway.add(urls)
    accepted = time.monotonic() - since
    await gateway.until(lambda listed: sum(w["is_healthy"] for w in listed) == len(urls))
    took = time.monotonic() - since
    print(f"{len(urls)} workers: accepted after {accepted:.2f} s, registered after {took:.2f} s, "
          f"{gateway.cpu_seconds() - cpu:.2f} s of CPU, {gateway.status('VmRSS') // 1024} MiB resident")
    scrapes = [await gateway.scrape() for _ in range(5)]
    print(f"a scrape of them: {statistics.median(s[0] for s in scrapes):.1f} ms, "
          f"{scrapes[0][1] // 1024} KiB, {scrapes[0][2]} series")
    since = time.monotonic()
    await gateway.each("DELETE", [(f"/workers/{w['id']}", b"") for w in await gateway.workers()])
    await gateway.until(lambda listed: not listed)
    print(f"removed after {time.monotonic() - since:.2f} s, {gateway.status('VmRSS') // 1024} MiB resident, "
          f"{(await gateway.scrape())[2]} series")


async def churn(gateway: Gateway, urls: list[str], cycles: int, clients: int) -> tuple[dict[str, int], list]:
    """The answers that clients got meanwhile, and (cycle, KiB resident, series) now and then."""
    staying, coming = urls[:4], urls[4:]
    await gateway.add(staying)
    await gateway.until(lambda listed: sum(w["is_healthy"] for w in listed) == len(staying))
    load = Load(gateway.port, clients)
    marks = []
    since = time.monotonic()
    for cycle in range(1, cycles + 1):
        await gateway.add(coming)
        listed = await gateway.until(lambda l: sum(w["is_healthy"] for w in l) == len(urls))
        await asyncio.sleep(0.1)
        leaving = [(f"/workers/{w['id']}", b"") for w in listed if w["url"] in coming]
        await gateway.each("DELETE", leaving)
        await gateway.until(lambda l: len(l) == len(staying))
        if cycle in (1, cycles) or cycle % 10 == 0:
            await asyncio.sleep(0.5)
            marks.append((cycle, gateway.status("VmRSS"), (await gateway.scrape())[2]))
            print("cycle %d: %d KiB resident, %d series" % marks[-1])
    answers = await load.stop()
    print(f"{cycles} cycles of {len(coming)} workers in {time.monotonic() - since:.1f} s: {answers}")
    return answers, marks


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/smg")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("flags", nargs="*")
    options = parser.parse_args()
    urls, processes = start_workers(max(options.workers, options.batch + 4), options.processes)
    gateway = Gateway(options.binary, options.flags)
    try:
        await gateway.ready()
        await register_many(gateway, urls[:options.workers])
        answers, _ = await churn(gateway, urls[:options.batch + 4], options.cycles, options.clients)
        return 0 if set(answers) == {"200"} else 1
    finally:
        gateway.stop()
        for process in processes:
            process.terminate()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
