"""What `smg print` prints: the pages of docs/reference, the manual page, and the completions of shells."""

import subprocess

import pytest

from conftest import ROOT


@pytest.mark.parametrize("page", ["flags", "metrics"])
def test_reference_page_is_current(printed, page):
    current = (ROOT / f"docs/reference/{page}.md").read_text() == printed(page)
    assert current, f"docs/reference/{page}.md: run cmake --build --preset release --target reference"


def test_manual_page_is_formatted_without_complaint(printed, tmp_path, tool):
    (tmp_path / "smg.1").write_text(printed("man"))
    run = subprocess.run([tool("groff"), "-ww", "-man", "-Tutf8", tmp_path / "smg.1"], capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == ""
    assert "address of the metrics port" in run.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(printed, tmp_path, tool, shell):
    (tmp_path / "completion").write_text(printed(shell))
    run = subprocess.run([tool(shell), "-n", tmp_path / "completion"], capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == ""


# A line that is typed so far, with some that is offered and some that is not.
OFFERS = [
    (["smg", ""], ["launch", "serve", "print"], ["bash"]),
    (["smg", "pr"], ["print"], ["launch"]),
    (["smg", "print", ""], ["man", "bash", "zsh", "fish", "flags", "metrics"], ["--port"]),
    (["smg", "launch", "--max-p"], ["--max-payload-size"], ["--max-buffered-request-bytes"]),
    (["smg", "serve", "--remove-un"], ["--remove-unhealthy-workers"], ["--stream-request-bodies-over"]),
    (["smg", "launch", "--policy", "r"], ["random", "round_robin"], ["cache_aware"]),
    (["smg", "launch", "--backend", ""], ["sglang", "vllm"], ["echo", "openai"]),
    (["smg", "serve", "--backend", ""], ["echo"], ["sglang"]),
    (["smg", "launch", "--log-dir", "some"], ["somewhere"], ["something.toml"]),
    (["smg", "launch", "--config", "some"], ["something.toml"], []),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "somewhere").mkdir()
    (tmp_path / "something.toml").touch()
    return tmp_path


@pytest.mark.parametrize("words, offered, others", OFFERS, ids=[" ".join(words) for words, _, _ in OFFERS])
def test_bash_offers(printed, folder, tool, words, offered, others):
    script = printed("bash") + '\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n_smg\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    run = subprocess.run([tool("bash"), "-c", script, "bash", *words], cwd=folder, capture_output=True, text=True)
    offers = run.stdout.split("\n")
    assert run.stderr == ""
    assert set(offered) <= set(offers) and not set(others) & set(offers)


@pytest.mark.parametrize("words, offered, others", OFFERS, ids=[" ".join(words) for words, _, _ in OFFERS])
def test_fish_offers(printed, folder, tool, words, offered, others):
    (folder / ".smg.fish").write_text(printed("fish"))
    script = f'source .smg.fish; complete -C "{" ".join(words)}"'
    run = subprocess.run([tool("fish"), "--no-config", "-c", script], cwd=folder, capture_output=True, text=True,
                         env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "dumb"})
    offers = [line.split("\t")[0].rstrip("/") for line in run.stdout.split("\n")]
    assert set(offered) <= set(offers) and not set(others) & set(offers)


def test_zsh_describes_the_flags_of_the_command(printed, tool):
    """Completion itself needs a terminal; what is handed to zsh's own _arguments does not."""
    script = '_arguments() { [[ $1 == -C ]] && state=arguments || print -rl -- "$@" }\nwords=(serve)\n' + printed("zsh")
    run = subprocess.run([tool("zsh"), "-f", "-c", script], capture_output=True, text=True)
    assert run.stderr == ""
    specs = run.stdout.split("\n")
    assert "--backend[workers that are started along\\: echo]:KIND:(echo)" in specs
    assert "*--request-id-headers[headers searched for a client's request id]:NAME...:" in specs
    assert any(spec.startswith("--log-dir[") and spec.endswith(":DIR:_files -/") for spec in specs)
