"""The container image: its recipe, and the bill of materials that goes into it."""

import fnmatch
import json
import re
import subprocess
import sys

import pytest
import yaml

from conftest import ROOT

RECIPE = re.sub(r"\\\n", " ", (ROOT / "docker/Dockerfile").read_text())
INSTRUCTIONS = [line.split(maxsplit=1) for line in RECIPE.splitlines() if line.strip() and not line.startswith("#")]

STATUS = """\
Package: smg
Status: install ok installed
Architecture: amd64
Maintainer: smg maintainers <maintainers@smg.example>
Version: 0.1.0
Depends: systemd | systemd-standalone-sysusers, libc6 (>= 2.34), libstdc++6 (>= 12), awk
Description: gateway

Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc
Maintainer: GNU Libc Maintainers <debian-glibc@lists.debian.org>
Version: 2.36-9+deb12u14
Depends: libgcc-s1
Description: C library

Package: libstdc++6
Status: install ok installed
Architecture: amd64
Source: gcc-12 (12.2.0-14+b1)
Maintainer: Debian GCC Maintainers <debian-gcc@lists.debian.org>
Version: 12.2.0-14+b2
Pre-Depends: libc6 (>= 2.36)
Description: C++ library

Package: systemd-standalone-sysusers
Status: install ok installed
Architecture: amd64
Source: systemd
Maintainer: Debian systemd Maintainers <pkg-systemd@lists.debian.org>
Version: 252.39-1
Description: users

Package: mawk
Status: install ok installed
Architecture: amd64
Maintainer: Boyuan Yang <byang@debian.org>
Version: 1.3.4
Provides: awk
Description: awk

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Maintainer: Nobody <nobody@debian.org>
Version: 1
Description: removed
"""
BUILD_STATUS = """\
Package: libcli11-dev
Status: install ok installed
Architecture: all
Source: cli11
Maintainer: Debian <a@debian.org>
Version: 2.1.2
Description: headers
"""


def make_sbom(tmp_path, status: str = STATUS) -> subprocess.CompletedProcess:
    for name, text in (("run", status), ("build", BUILD_STATUS)):
        (tmp_path / name / "info").mkdir(parents=True)
        (tmp_path / name / "status").write_text(text)
    return subprocess.run([sys.executable, ROOT / "docker/make_sbom.py", "--admindir", tmp_path / "run",
                           "--build-admindir", tmp_path / "build", "--built-with", "libcli11-dev"],
                          capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1800000000"})


@pytest.fixture
def document(tmp_path) -> dict:
    return json.loads(make_sbom(tmp_path).stdout)


def test_bill_is_spdx(document):
    """What the schema of SPDX 2.3 asks of a document, its packages and relationships."""
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"] == "smg-0.1.0"
    assert document["creationInfo"] == {"created": "2027-01-15T08:00:00Z", "creators": ["Tool: make_sbom.py"]}
    assert re.fullmatch(r"https://[^\s#]+", document["documentNamespace"])
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    for package in document["packages"]:
        assert package.keys() >= {"name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared"}
        assert re.match(r"(Organization|Person): .", package["supplier"])
        [reference] = package["externalRefs"]
        assert reference["referenceType"] == "purl" and reference["referenceLocator"].startswith("pkg:")
    known = {*ids, "SPDXRef-DOCUMENT"}
    assert {end for one in document["relationships"] for end in (one["spdxElementId"], one["relatedSpdxElement"])} <= known


def test_bill_has_what_is_installed_and_linked(document):
    versions = {package["name"]: package["versionInfo"] for package in document["packages"]}
    assert versions == {"smg": "0.1.0", "libc6": "2.36-9+deb12u14", "libstdc++6": "12.2.0-14+b2", "mawk": "1.3.4",
                        "systemd-standalone-sysusers": "252.39-1", "libcli11-dev": "2.1.2"}
    [cpp] = [package for package in document["packages"] if package["name"] == "libstdc++6"]
    assert cpp["sourceInfo"] == "built from the source package gcc-12 12.2.0-14+b1"
    assert cpp["externalRefs"][0]["referenceLocator"] == \
        "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bb2?arch=amd64&distro=debian-12"


def test_bill_follows_dependencies(document):
    names = {package["SPDXID"]: package["name"] for package in document["packages"]} | {"SPDXRef-DOCUMENT": "document"}
    found = {(names[one["spdxElementId"]], one["relationshipType"], names[one["relatedSpdxElement"]])
             for one in document["relationships"]}
    assert found == {
        ("document", "DESCRIBES", "smg"), ("smg", "STATIC_LINK", "libcli11-dev"),
        ("smg", "DEPENDS_ON", "systemd-standalone-sysusers"), ("smg", "DEPENDS_ON", "libc6"),
        ("smg", "DEPENDS_ON", "libstdc++6"), ("smg", "DEPENDS_ON", "mawk"), ("libstdc++6", "DEPENDS_ON", "libc6")}


def test_bill_of_an_image_without_the_gateway_is_an_error(tmp_path):
    run = make_sbom(tmp_path, STATUS.split("\n\n", 1)[1])
    assert run.returncode != 0 and run.stdout == ""


def ignored(name: str) -> bool:
    """As .dockerignore says: the last pattern that fits a path, or a folder above it, decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().split():
        pattern, keeps = line.removeprefix("!"), line.startswith("!")
        if fnmatch.fnmatch(name, pattern) or name.startswith(pattern + "/"):
            out = not keeps
    return out


def test_build_context_has_what_the_build_reads():
    read = ["CMakeLists.txt", "CMakePresets.json", "src/main.cpp", "cmake/package.cmake", "configs/debian/postinst",
            "docs/operations.md", "docs/reference/flags.md", "docker/make_sbom.py", "cmake/install_dependencies.sh"]
    assert [name for name in read if ignored(name) or not (ROOT / name).exists()] == []
    assert ignored("build/release/smg") and ignored("tests/run.sh") and ignored(".git")


def test_recipe_copies_from_stages_and_context():
    stages = {match[1] for match in re.finditer(r"^FROM \S+ AS (\w+)", RECIPE, re.MULTILINE)}
    assert stages == {"build", "runtime", "sbom"}
    for name, rest in INSTRUCTIONS:
        if name != "COPY":
            continue
        if match := re.match(r"--from=(\w+)", rest):
            assert match[1] in stages
        else:
            source = rest.split()[0]
            assert source == "." or ((ROOT / source).exists() and not ignored(source))


def test_image_runs_as_the_user_of_the_manifests():
    [user] = [rest for name, rest in INSTRUCTIONS if name == "USER"]
    pod = yaml.safe_load((ROOT / "configs/kubernetes/deployment.yaml").read_text())["spec"]["template"]["spec"]
    rights = pod["securityContext"]
    assert user == f"{rights['runAsUser']}:{rights['runAsGroup']}"
    assert f"--gid {rights['runAsGroup']} smg" in RECIPE and f"--uid {rights['runAsUser']}" in RECIPE


def test_code_in_the_binary_is_installed_for_the_build():
    [packages] = re.findall(r"--built-with ([\w. -]+?)\s+>", RECIPE)
    installs = (ROOT / "cmake/install_dependencies.sh").read_text().split()
    assert set(packages.split()) <= set(installs)
