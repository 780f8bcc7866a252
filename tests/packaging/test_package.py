"""The Debian package and the systemd unit in it. `cmake --build --preset release --target deb` makes the package."""

import configparser
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

UNIT = ROOT / "configs/systemd/smg.service"
FILES = {
    "/etc/smg/smg.toml": "-rw-r--r--",
    "/lib/systemd/system/smg.service": "-rw-r--r--",
    "/usr/bin/smg": "-rwxr-xr-x",
    "/usr/lib/sysusers.d/smg.conf": "-rw-r--r--",
    "/usr/share/bash-completion/completions/smg": "-rw-r--r--",
    "/usr/share/doc/smg/changelog.gz": "-rw-r--r--",
    "/usr/share/doc/smg/copyright": "-rw-r--r--",
    "/usr/share/doc/smg/operations.md": "-rw-r--r--",
    "/usr/share/doc/smg/examples/prometheus/alerts.yml": "-rw-r--r--",
    "/usr/share/fish/vendor_completions.d/smg.fish": "-rw-r--r--",
    "/usr/share/man/man1/smg.1.gz": "-rw-r--r--",
    "/usr/share/zsh/vendor-completions/_smg": "-rw-r--r--",
}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def output(*command, **options) -> str:
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def package() -> Path:
    made = sorted((ROOT / "build/release").glob("smg_*.deb"), key=lambda path: path.stat().st_mtime)
    assert made, "no package: cmake --build --preset release --target deb"
    return made[-1]


@pytest.fixture(scope="module")
def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(UNIT)
    return parser


def test_package_has_its_files(package):
    lines = [line.split(maxsplit=5) for line in output("dpkg", "--contents", package).splitlines()]
    found = {fields[5].removeprefix("."): fields[0] for fields in lines}
    assert FILES.items() <= found.items()
    assert all(fields[1] == "root/root" for fields in lines)
    assert not [name for name in found if "include" in name or name.endswith((".a", ".hpp"))]


def test_package_tells_what_it_needs(package):
    depends = output("dpkg-deb", "--field", package, "Depends")
    linked = re.findall(r"^\s+(\S+) =>", output("ldd", os.environ["SMG_BINARY"]), re.MULTILINE)
    assert any(name.startswith("libssl") for name in linked)
    for library in ("libc6", "libcjose0", "libnghttp2-14", "libprometheus-cpp-core1.0", "libsimdjson14", "libssl3"):
        assert re.search(rf"\b{re.escape(library)}\b", depends), f"{library} is not in {depends}"
    assert "systemd-sysusers" in depends


def test_versions_agree(package):
    version = output("dpkg-deb", "--field", package, "Version").strip()
    assert output(os.environ["SMG_BINARY"], "--version") == f"smg {version}\n"
    assert (ROOT / "configs/debian/changelog").read_text().startswith(f"smg ({version}) ")


def test_lintian_has_nothing_to_say(package, tool):
    output(tool("lintian"), "--fail-on", "error,warning", "--allow-root", package)


@needs_root
def test_installs_starts_and_leaves_nothing(package, tmp_path, tool):
    """In a root of its own, without the libraries: `tests/run.sh --clean-root` does it with apt and all."""
    tool("systemd-sysusers")
    for folder in ("etc", "var/log", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={tmp_path}", "--force-script-chrootless"]

    output(*dpkg, "--force-depends", "--install", package)
    assert output(tmp_path / "usr/bin/smg", "--version").startswith("smg ")
    [user] = [line for line in (tmp_path / "etc/passwd").read_text().splitlines() if line.startswith("smg:")]
    _, _, uid, gid, _, home, shell = user.split(":")
    assert int(uid) > 0 and home == "/var/lib/smg" and shell == "/usr/sbin/nologin"
    settings = (tmp_path / "etc/smg/smg.toml").stat()
    assert (settings.st_uid, settings.st_gid, stat.S_IMODE(settings.st_mode)) == (0, int(gid), 0o640)
    assert (tmp_path / "etc/systemd/system/multi-user.target.wants/smg.service").is_symlink()

    # A change of the administrator's outlives the package, as a conffile's does, until it is purged.
    (tmp_path / "etc/smg/smg.toml").write_text("port = 30001\n")
    output(*dpkg, "--remove", "smg")
    assert (tmp_path / "etc/smg/smg.toml").read_text() == "port = 30001\n"
    assert not (tmp_path / "usr/bin/smg").exists()
    output(*dpkg, "--purge", "smg")
    assert not (tmp_path / "etc/smg").exists()
    assert not [path for path in tmp_path.rglob("*smg*")]


def test_unit_is_valid(tool, tmp_path):
    """With the binary of this build in the place of the installed one."""
    text = UNIT.read_text().replace("/usr/bin/smg", os.environ["SMG_BINARY"])
    (tmp_path / "smg.service").write_text(text)
    run = subprocess.run([tool("systemd-analyze"), "verify", "--man=no", tmp_path / "smg.service"],
                         capture_output=True, text=True)
    assert run.returncode == 0 and "smg.service" not in run.stderr, run.stderr


def test_unit_exposes_little(tool):
    # In tenths: 1.5 of 10. What is left is the network, which a gateway is for.
    output(tool("systemd-analyze"), "security", "--no-pager", "--offline=yes", "--threshold=15", UNIT)


def test_unit_fits_the_package_and_the_gateway(unit, printed):
    service = unit["Service"]
    users = re.findall(r"^u (\w+)", (ROOT / "configs/systemd/smg.sysusers").read_text(), re.MULTILINE)
    assert [service["User"]] == users == [service["Group"]]
    assert service["ExecStart"].split()[0] in FILES
    assert service["ExecStart"].endswith("--config " + (ROOT / "configs/debian/conffiles").read_text().strip())
    [grace] = re.findall(r"`--shutdown-grace-period-secs` SECS \| (\d+)", printed("flags"))
    assert int(service["TimeoutStopSec"]) > int(grace)
    assert service["RestartPreventExitStatus"].split() == ["1", "2"]
