#!/usr/bin/env python3
"""Prints a software bill of materials of an installed smg as SPDX 2.3 in JSON: what dpkg knows, no more.

    make_sbom.py [--admindir DIR] [--built-with PACKAGE...] [--build-admindir DIR]

--admindir        dpkg's database where smg is installed (default: /var/lib/dpkg)
--built-with      packages whose code is in the binary itself: headers, static libraries
--build-admindir  dpkg's database where it was built, which has those
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from urllib.parse import quote

FIELDS = ("Package", "Version", "Architecture", "source:Package", "source:Version", "Maintainer", "Pre-Depends", "Depends",
          "Provides", "db:Status-Status")


@dataclass
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    maintainer: str
    needs: list[list[str]]  # alternatives of each dependency
    provides: list[str]

    @property
    def id(self) -> str:
        return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", lambda match: f"-{ord(match[0]):x}-", self.name)


def names(relations: str) -> list[list[str]]:
    """The names in a field such as `libc6 (>= 2.34), a | b:any`."""
    return [[alternative.split()[0].split(":")[0] for alternative in relation.split("|")]
            for relation in relations.split(",") if relation.strip()]


def installed(admindir: str) -> dict[str, Package]:
    form = "\x1f".join("${" + field + "}" for field in FIELDS) + "\x1e"
    output = subprocess.run(["dpkg-query", f"--admindir={admindir}", "--show", f"--showformat={form}"],
                            capture_output=True, text=True, check=True).stdout
    found = {}
    for record in filter(None, output.split("\x1e")):
        name, version, architecture, source, source_version, maintainer, before, depends, provides, status = \
            record.split("\x1f")
        if status == "installed":
            found[name] = Package(name, version, architecture, source, source_version, maintainer,
                                  names(before) + names(depends), [one[0] for one in names(provides)])
    return found


def described(package: Package) -> dict:
    is_ours = package.name == "smg"
    locator = f"{quote(package.name)}@{quote(package.version)}?arch={package.architecture}"
    locator = f"pkg:generic/{locator}" if is_ours else f"pkg:deb/debian/{locator}&distro=debian-12"
    return {
        "name": package.name,
        "SPDXID": package.id,
        "versionInfo": package.version,
        "supplier": "Organization: " + re.sub(r"\s*<.*", "", package.maintainer),
        "sourceInfo": f"built from the source package {package.source} {package.source_version}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0" if is_ours else "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}],
    }


def relationship(one: str, kind: str, other: str) -> dict:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def dependencies(packages: dict[str, Package]) -> list[dict]:
    """Each dependency with the first alternative that is installed."""
    providers = {name: package for package in packages.values() for name in package.provides} | packages
    found = []
    for package in packages.values():
        wanted = (next((name for name in choice if name in providers), None) for choice in package.needs)
        others = {providers[name].id for name in wanted if name} - {package.id}
        found += [relationship(package.id, "DEPENDS_ON", other) for other in sorted(others)]
    return found


def bill(packages: dict[str, Package], built_with: list[Package]) -> dict:
    smg = packages["smg"]
    linked = [package for package in built_with if package.name not in packages]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"smg-{smg.version}",
        "packages": [described(package) for package in [*packages.values(), *linked]],
        "relationships": [relationship("SPDXRef-DOCUMENT", "DESCRIBES", smg.id), *dependencies(packages),
                          *(relationship(smg.id, "STATIC_LINK", package.id) for package in linked)],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return document | {
        "documentNamespace": f"https://smg.example/spdx/smg-{smg.version}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment), "creators": ["Tool: make_sbom.py"]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--admindir", default="/var/lib/dpkg")
    parser.add_argument("--build-admindir", default="/var/lib/dpkg")
    parser.add_argument("--built-with", nargs="*", default=[])
    arguments = parser.parse_args()
    build = installed(arguments.build_admindir) if arguments.built_with else {}
    print(json.dumps(bill(installed(arguments.admindir), [build[name] for name in arguments.built_with]), indent=2))


if __name__ == "__main__":
    main()
