"""Other programs' HTTP on both sides: nghttpd and Node as workers; curl, nghttp and h2load as clients; nginx between."""

import contextlib

import pytest

from programs import *

MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]})
UPLOAD = json.dumps(chat("x" * 3_000_000)).encode()
EVENTS = b"".join(b"data: {\"n\":%d}\n\n" % n for n in range(200)) + b"data: [DONE]\n\n"

NODE_WORKER = """
const reply = (stream, type, body) => { stream.respond({':status': 200, 'content-type': type}); stream.end(body); };
require('http2').createServer().on('stream', (stream, headers) => {
  if (headers[':path'] === '/v1/models') return reply(stream, 'application/json', process.argv[2]);
  if (headers[':method'] !== 'POST') return reply(stream, 'application/json', '{}');
  const pieces = [];
  stream.on('data', (piece) => pieces.push(piece));
  stream.on('end', () => {
    if (!JSON.parse(Buffer.concat(pieces)).stream) return reply(stream, 'application/json', Buffer.concat(pieces));
    stream.respond({':status': 200, 'content-type': 'text/event-stream'});
    let n = 0;
    const next = () => { if (n < 200) { stream.write(`data: {"n":${n++}}\\n\\n`); setImmediate(next); }
                         else stream.end('data: [DONE]\\n\\n'); };
    next();
  });
}).listen(Number(process.argv[1]), '127.0.0.1');
"""

@contextlib.asynccontextmanager
async def before_http2_worker(port: int):
    async with Launched("--upstream-http2", "--worker-urls", f"http://{HOST}:{port}") as g:
        await g.wait_for(lambda ws: ws and all(w["is_healthy"] and w["http2"] for w in ws))
        yield g


async def events(ex: Exchange) -> None:
    await ex.read_body()
    await ex.sse([event + b"\n\n" for event in EVENTS.split(b"\n\n")[:-1]])


# Workers ------------------------------------------------------------------------------------------


@needs("nghttpd")
async def test_nghttpd_as_a_worker(tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1/models").write_text(MODELS)
    (tmp_path / "health").write_text("{}")
    port = free_port()
    async with running("nghttpd", "--no-tls", "--echo-upload", "-a", HOST, "-d", tmp_path, port, port=port), \
            before_http2_worker(port) as g:
        for body in (json.dumps(chat()).encode(), UPLOAD):
            answer = await g.post("/v1/chat/completions", body=body)
            assert answer.status == 200 and json.loads(answer.body) == json.loads(body)


@needs("node")
async def test_node_as_a_worker():
    port = free_port()
    async with running("node", "-e", NODE_WORKER, "--", port, MODELS, port=port), before_http2_worker(port) as g:
        answers = await asyncio.gather(*(g.post("/v1/chat/completions", body=UPLOAD) for _ in range(4)),
                                       *(g.post("/v1/chat/completions", chat(stream=True)) for _ in range(20)))
        assert all(answer.status == 200 and answer.complete for answer in answers)
        assert all(json.loads(answer.body) == json.loads(UPLOAD) for answer in answers[:4])
        assert all(answer.body == EVENTS for answer in answers[4:])
        assert (await g.metrics()).value("smg_upstream_connections_open", protocol="http2") == 1


# Clients ------------------------------------------------------------------------------------------


@needs("curl")
@pytest.mark.parametrize("version", ["--http2-prior-knowledge", "--http1.1", "--http1.0"])
async def test_curl_as_a_client(version, tmp_path):
    (tmp_path / "body").write_bytes(UPLOAD)
    async with Worker() as w, Launched(workers=[w]) as g:
        url = f"http://{HOST}:{g.port}/v1/chat/completions"
        post = ("curl", "-sS", "--noproxy", "*", "-N", version, "-H", "Content-Type: application/json")
        out = await output_of(*post, "--data-binary", f"@{tmp_path}/body", "-w", "\n%{http_code}", url)
        assert json.loads(out.rpartition(b"\n")[0])["object"] == "chat.completion" and out.endswith(b"\n200")
        assert w.seen[-1].body == UPLOAD
        w.handler = events
        assert await output_of(*post, "-d", json.dumps(chat(stream=True)), url) == EVENTS


@needs("nghttp")
async def test_nghttp_as_a_client(tmp_path):
    (tmp_path / "body").write_bytes(UPLOAD)
    async with Worker(handler=events) as w, Launched(workers=[w]) as g:
        out = await output_of("nghttp", "-d", tmp_path / "body", "-H", "content-type: application/json",
                              f"http://{HOST}:{g.port}/v1/chat/completions")
        assert out == EVENTS
        assert w.seen[-1].body == UPLOAD


@needs("h2load")
@pytest.mark.parametrize("version", [(), ("--h1",)], ids=["h2", "h1"])
async def test_h2load_as_a_client(version, tmp_path):
    (tmp_path / "body").write_text(json.dumps(chat()))
    async with Worker() as w, Launched(workers=[w]) as g:
        out = await output_of("h2load", "-n", 1000, "-c", 5, *(version or ("-m", 10)), "-d", tmp_path / "body",
                              "-H", "content-type: application/json", f"http://{HOST}:{g.port}/v1/chat/completions")
        assert b"1000 succeeded, 0 failed, 0 errored, 0 timeout" in out
        assert b"status codes: 1000 2xx" in out
        assert len(w.seen) == 1000


# Between ------------------------------------------------------------------------------------------


@needs("nginx")
async def test_nginx_before_the_gateway():
    """It speaks HTTP/1.0 to what is behind it, unless told otherwise: no chunks, no connection to keep."""
    async with Worker() as w, Launched(workers=[w]) as g, nginx_before(g.port) as front:
        answer = await request(front, "POST", "/v1/chat/completions", body=UPLOAD)
        assert answer.status == 200 and answer.complete
        assert w.seen[-1].body == UPLOAD
        w.handler = events
        answer = await request(front, "POST", "/v1/chat/completions", body=json.dumps(chat(stream=True)).encode())
        assert answer.status == 200 and answer.complete and answer.body == EVENTS
