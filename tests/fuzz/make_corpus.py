#!/usr/bin/env python3
"""Writes tests/fuzz/corpus: a few inputs per target, of the kinds that tests/conformance sends.

    .venv/bin/python tests/fuzz/make_corpus.py

What a fuzzer finds is added as a unit test, not here.
"""

import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "conformance"))

import h2.config
import h2.connection
import h2.settings
import lab
import minimax
import streams

LABEL = b"\x10"  # the size of pieces, or a choice


def join(*parts) -> bytes:
    return b"".join(p.encode() if isinstance(p, str) else p for p in parts)


def h1_request() -> dict[str, bytes]:
    post = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return {
        "length": join(LABEL, post, "Content-Length: 2\r\n\r\n"),
        "chunked": join(LABEL, post, "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"),
        "both": join(LABEL, post, "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n"),
        "absolute": join(LABEL, "GET http://u:1/health?a=b#c HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n"),
        "old": join(LABEL, "GET /health HTTP/1.0\nConnection: keep-alive\n\n"),
        "folded": join(LABEL, "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n"),
    }


def h1_response() -> dict[str, bytes]:
    ok = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    return {
        "length": join(LABEL, ok, "Content-Length: 5\r\n\r\n"),
        "chunked": join(LABEL, ok, "Transfer-Encoding: chunked\r\n\r\n"),
        "until_close": join(LABEL, "HTTP/1.0 200 OK\r\n\r\n"),
        "hints": join(LABEL, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
        "no_content": join(LABEL, "HTTP/1.1 204 No Content\r\n\r\n"),
        "to_head": join(b"\x11", ok, "Content-Length: 5\r\nConnection: close\r\n\r\n"),
    }


def chunked() -> dict[str, bytes]:
    return {
        "plain": join(LABEL, LABEL, *(streams.chunk(minimax.content("hi")) for _ in range(3)), "0\r\n\r\n"),
        "extension": join(LABEL, LABEL, '5;name="va;lue"\r\nhello\r\n0;x\r\nTrailer: v\r\n\r\nGET'),
        "broken": join(LABEL, LABEL, "5\r\nhello0\r\n\r\n"),
        "huge": join(LABEL, LABEL, "FFFFFFFFFFFFFFFFF\r\n"),
    }


def h2_client(choice: bytes, body: bytes | None, end: bool = True) -> bytes:
    """What a client sends for one request."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    fields = [(":method", "POST"), (":scheme", "http"), (":authority", "x"), (":path", streams.CHAT),
              ("content-type", "application/json")]
    connection.send_headers(1, fields, end_stream=body is None)
    if body is not None:
        connection.send_data(1, body, end_stream=end)
    if not end:
        connection.reset_stream(1, 8)
    connection.ping(b"12345678")
    connection.close_connection()
    return choice + connection.data_to_send()


def h2_server(choice: bytes) -> bytes:
    """What a worker sends in answer to one."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    client.send_headers(1, [(":method", "POST"), (":scheme", "http"), (":authority", "x"), (":path", "/")],
                        end_stream=True)
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    server.initiate_connection()
    server.receive_data(client.data_to_send())
    server.send_headers(1, [(":status", "200"), ("content-type", "text/event-stream")])
    server.send_data(1, join(minimax.content("hi"), streams.DONE), end_stream=True)
    server.close_connection()
    return choice + server.data_to_send()


def h2_session() -> dict[str, bytes]:
    body = lab.json.dumps(lab.chat()).encode()
    return {
        "request": h2_client(b"\x21", None),
        "upload": h2_client(b"\x11", body),
        "reset": h2_client(b"\xfd", body, end=False),
        "answer": h2_server(b"\x20"),
        "continuation": b"\x43" + bytes.fromhex("000004010100000001" "82868484" "000003090000000001" "0f0d00"),
        "window": b"\x43" + bytes.fromhex("000004080000000000" "7fffffff"),
    }


def h2_pair() -> dict[str, bytes]:
    return {
        "simple": b"\x08\x04" + b"\x01\x03abc" + b"\x0f\x03\x05hello" + b"\x0f",
        "upload": b"\x08\x04" + b"\x00\x03abc" + b"\x04\x05hello!\x03\x01" + b"\x0f\x02\x02xy" + b"\x05\x02abc\x08\x01",
        "cut": b"\x01\x00" + b"\x00\x00\x00\x00\x0b\x0b\x06\x17\x0c\x08\x0e",
        "slow": b"\xff\x01" + b"\x00\x01z" + b"\x04\xff" + b"0123456789" * 26 + b"\x0f\x00" + b"\x0b\x01\x01\x0a" * 9,
    }


def minimax_reslicer() -> dict[str, bytes]:
    long = "Déjà vu, in slices of text. " * 12
    start = b"\x20\x40"
    return {
        "content": join(start, minimax.content(long), minimax.event({}, "stop"), streams.DONE),
        "fields": join(start, *(minimax.piece(f, "text of it") for f in minimax.FIELDS), streams.DONE),
        "tools": join(start, minimax.call(0, id="c", name="f"), minimax.call(0, '{"a":'), minimax.call(0, '"b"}'),
                      minimax.event({}, "tool_calls")),
        "line_ends": join(start, ": comment\r\n\r\n", minimax.content("hi").replace("\n", "\r"), "data: [DONE]"),
    }


def sse_framer() -> dict[str, bytes]:
    return {name: text[1:] for name, text in minimax_reslicer().items()} | {
        "mixed": join(b"\x00", "event: a\ndata: b\r\n\r\r\n\n\ndata:c\r\rid: 1"),
    }


def prompt_logprobs() -> dict[str, bytes]:
    def answer(inside: str) -> str:
        return '{"text":"a","meta_info":{"id":"x","input_token_logprobs":[%s]}}' % inside

    return {
        "answer": join(LABEL, answer("[-1.50,1,null]"), "\n\n", answer("[-2,2]")),
        "batch": join(LABEL, "[", answer("1"), ",", answer(""), "]\n\n[", answer(""), ",", answer("2"), "]"),
        "stream": join(LABEL, answer("[-1,1]"), "\n\ndata: ", answer("[-2,2]"), "\n\ndata: [DONE]\n\n"),
    }


def json_body() -> dict[str, bytes]:
    chat = lab.chat(stream=True, model="m", data_parallel_rank=1, stream_options={"include_usage": True}, n=2)
    return {
        "generate": join(b"\x00", '{ "text" : ["a","b"], "rid":"r", "bootstrap_room" : 1 , "stream":true}'),
        "tokens": join(b"\x00", '{"input_ids":[[1],[2,3]],"data_parallel_rank":7,"return_logprob":true}'),
        "chat": join(b"\x01", lab.json.dumps(chat)),
        "completion": join(b"\x02", '{"model":"m","prompt":["a","b"],"max_tokens":5,"stop":["x"],"n":1}'),
        "messages": join(b"\x03", '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"\\ud83d\\ude00"}]}'),
        "responses": join(b"\x08", '{"model":"m","input":"x","kv_transfer_params":{"a":1},"min_tokens":0}'),
        "number": join(b"\x00", '{"text":"x","temperature":-0.5e-3}'),
    }


def worker_spec() -> dict[str, bytes]:
    return {
        "plain": b'{"url":"http://Host:8000/","priority":7,"cost":2,"labels":{"zone":"a"},"api_key":"k"}',
        "pair": b'{"url":"http://h:1","worker_type":"prefill","bootstrap_port":9001,"kv_connector":"NixlConnector"}',
        "models": b'{"url":"https://[::1]","models":[{"id":"m","aliases":["n"],"context_length":9}],"runtime":"vllm"}',
        "overrides": b'{"url":"http://h","health":{"check_interval_secs":3},"http_pool":{"http2":false},'
                     b'"resilience":{"cb_timeout_secs":8,"backoff_multiplier":1.5,"retryable_status_codes":[500]},'
                     b'"overload":{"waiting_requests":1,"token_usage":0.5},"load_monitor_interval_secs":1}',
    }


def command_line() -> dict[str, bytes]:
    return {
        "workers": b"--worker-urls\nhttp://a:1\nhttp://b:2/\n--policy\nround_robin\n--port=31\n\n[section]\nport = 3\n",
        "file": b'--disable-retries\n\nworker-urls = ["http://a:1"]\nhost = "::1"\nlog-json = true\n',
        "pairs": b"--pd-disaggregation\n--prefill\nhttp://p:1\n9001\n--decode\nhttp://d:1\n--host\n[::1]\n",
        "wrong": b"--port\n70000\n--no-such-flag=x\n--request-timeout-secs\n-1\n--log-level\nloud",
        "access": b"--control-plane-api-keys\na:n:admin:k\n--cors-allowed-origins\nhttp://x\n--max-payload-size\n1\n",
    }


def main() -> None:
    corpus = FOLDER / "corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    for make in (h1_request, h1_response, chunked, h2_session, h2_pair, minimax_reslicer, sse_framer,
                 prompt_logprobs, json_body, worker_spec, command_line):
        folder = corpus / make.__name__
        folder.mkdir(parents=True)
        for name, content in make().items():
            (folder / name).write_bytes(content)


main()
