"""Other programs around the gateway: whether they are installed, and how they run."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest

from binary import *

NGINX = """
daemon off; user root; pid {folder}/pid; error_log stderr; events {{}}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen {host}:{port}; location / {{ proxy_pass http://{host}:{gateway}; {settings} }} }}
}}
"""


def path_of(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path="/usr/sbin")


def needs(*programs: str):
    missing = [program for program in programs if path_of(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed (tests/run.sh install): {', '.join(missing)}")


@contextlib.asynccontextmanager
async def running(program: str, *arguments, port: int):
    """A server of another program, from when it listens on `port`."""
    process = await asyncio.create_subprocess_exec(path_of(program), *map(str, arguments),
                                                   stdout=asyncio.subprocess.DEVNULL)

    async def listens() -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(HOST, port)
            writer.close()
            return True
        return False

    try:
        await eventually(listens, 20)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def output_of(*command) -> bytes:
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, (command, out[-2000:])
    return out


@contextlib.asynccontextmanager
async def nginx_before(gateway: int, settings: str = ""):
    """An nginx before this port, which it speaks HTTP/1.0 to; yields its own port."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, host=HOST, port=port, gateway=gateway, settings=settings))
        async with running("nginx", "-e", "stderr", "-c", config, port=port):
            yield port
