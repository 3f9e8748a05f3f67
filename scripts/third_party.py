#!/usr/bin/env python3
"""What of others is in something that was built: their headers, compiled in, and their libraries, linked or beside it.

    scripts/third_party.py notices BUILD [--python PYTHON] [--library FILE]... [--no-common]     prints notices with the licenses
    scripts/third_party.py sbom BUILD NAME VERSION [--python PYTHON] [--library FILE]...   prints an SPDX 2.3 document

BUILD is a build folder of Ninja, which knows the headers that were compiled; FILE, a shared library that goes along. The
rest is what Debian's packages say that these files are of, and, of nanobind's, the package of PYTHON. Texts are those of
the installed packages. A package that LICENSES lacks is an error: look at its copyright file, and add it.
"""

import argparse
import datetime
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# By the names of Debian's source packages: what the parts that are used are licensed as.
LICENSES = {
    "boost1.74": "BSL-1.0",
    "boost1.83": "BSL-1.0",
    "bzip2": "bzip2-1.0.6",
    "cli11": "BSD-3-Clause",
    "eigen3": "MPL-2.0 AND BSD-3-Clause",
    "flatbuffers": "Apache-2.0",
    "fmtlib": "MIT",
    "highway": "Apache-2.0",
    "libzip": "BSD-3-Clause",
    "nlohmann-json3": "MIT AND BSD-3-Clause",
    "onetbb": "Apache-2.0",
    "openssl": "Apache-2.0",
    "protozero": "BSD-2-Clause",
    "pugixml": "MIT",
    "range-v3": "BSL-1.0 AND NCSA AND MIT",
    "re2": "BSD-3-Clause",
    "tl-expected": "CC0-1.0",
    "xxhash": "BSD-2-Clause",
}
NANOBIND = "BSD-3-Clause AND MIT"
# The platform's own, which is not part of what is shipped; the exception of GCC's license allows its headers.
PLATFORM = ("gcc-", "glibc", "linux", "python3")
# Of these, copyright files name the text, which every Debian has.
COMMON = ("Apache-2.0", "CC0-1.0", "MPL-2.0")
COMMON_TEXTS = pathlib.Path("/usr/share/common-licenses")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def headers(build):
    listed = set(output("ninja", "-C", str(build), "-t", "deps").splitlines())  # an object's are all headers that it has
    return sorted({os.path.realpath(build / line.strip()) for line in listed if line.startswith(" ")})


def owners(files):
    """The packages that have these files, of those files that packages have."""
    wanted = {file.removeprefix("/usr") for file in files}  # /lib is /usr/lib, and packages say either
    found = set()
    for listed in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        if not wanted.isdisjoint(file.removeprefix("/usr") for file in listed.read_text().splitlines()):
            found.add(listed.name.removesuffix(".list"))
    return found


def is_about(pattern, used):
    return bool(fnmatch.filter(used, pattern)) if "*" in pattern else pattern in used


def about(text, files):
    """The paragraphs of a long copyright file (Boost's is a book) about the headers that are used, and their licenses."""
    paragraphs = re.split(r"\n\s*\n", text)
    if len(text) < 100_000 or "copyright-format" not in paragraphs[0]:
        return text
    used = {file.partition("/include/")[2] for file in files}
    kept, licenses = [], set()
    for paragraph in paragraphs:
        fields = {name: value for name, value in re.findall(r"^(\w+):((?:.*\n?)(?:[ \t].*\n?)*)", paragraph, re.MULTILINE)}
        patterns = fields.get("Files", "").split()
        matching = [pattern for pattern in patterns if is_about(pattern.rpartition("include/")[2], used)]
        if matching:
            kept.append("\n ".join(["Files:", *matching]) + "\n" + paragraph[paragraph.index("Copyright:"):])
            licenses |= set(re.split(r"\s+(?:and|or)\s+|\s*,\s*", fields["License"].partition("\n")[0].strip()))
    texts = [paragraph for paragraph in paragraphs
             if paragraph.startswith("License:") and paragraph.partition("\n")[0][8:].strip() in licenses]
    return "\n\n".join([*kept, *texts])


def debian_component(package, files):
    form = "${source:Package}\t${source:Upstream-Version}\t${Homepage}"
    source, version, homepage = output("dpkg-query", "-W", "-f", form, package).split("\t")
    if source.startswith(PLATFORM):
        return None
    if source not in LICENSES:
        sys.exit(f"scripts/third_party.py: {source}, of the package {package}, is not in LICENSES: add it")
    text = pathlib.Path(f"/usr/share/doc/{package.partition(':')[0]}/copyright").read_text("utf-8", "replace")
    version = version.partition("+ds")[0].partition("~dfsg")[0].partition("+dfsg")[0]
    return {"name": source, "version": version, "license": LICENSES[source], "text": about(text, files), "homepage": homepage,
            "purl": f"pkg:deb/debian/{source}@{version}"}


def nanobind_component(python):
    code = ("import importlib.metadata as m; d = m.distribution('nanobind'); print(d.version);"
            "print(next(d.locate_file(f).read_text() for f in d.files if f.name.startswith('LICENSE')))")
    version, text = output(python, "-c", code).split("\n", 1)
    return {"name": "nanobind", "version": version, "license": NANOBIND, "text": text,
            "homepage": "https://github.com/wjakob/nanobind", "purl": f"pkg:pypi/nanobind@{version}"}


def components(build, libraries, python):
    files = headers(build)
    packages = owners(files + [str(pathlib.Path(library).resolve()) for library in libraries])
    # A package's headers and its library are one thing, of one copyright file.
    parts = [debian_component(package, files) for package in sorted(packages)]
    found = {part["name"]: part for part in parts if part}
    if any("/nanobind/include/" in file for file in files):
        found["nanobind"] = nanobind_component(python)
    if not {"boost1.74", "boost1.83"} & found.keys():
        sys.exit(f"scripts/third_party.py: {build} knows no headers of Boost: build there first, by Ninja")
    return sorted(found.values(), key=lambda part: part["name"])


def notices(parts, with_common):
    rule = "=" * 100
    lines = ["Quadrant contains parts of the following works. Which, under which license (SPDX), and their notices:", ""]
    lines += [f"  {part['name']} {part['version']}: {part['license']}" for part in parts]
    for part in parts:
        lines += ["", rule, f"{part['name']} {part['version']}  {part['homepage']}",
                  f"SPDX-License-Identifier: {part['license']}", rule, "", part["text"].rstrip()]
    for name in COMMON:
        if with_common and any(name in part["license"].split() for part in parts):
            text = (COMMON_TEXTS / name).read_text("utf-8")
            lines += ["", rule, f"The text of {name}", rule, "", text.rstrip()]
    return "\n".join(lines) + "\n"


def sbom(parts, name, version):
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def package(identifier, part):
        made = {"SPDXID": identifier, "name": part["name"], "versionInfo": part["version"],
                "licenseDeclared": part["license"], "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False}
        if part["homepage"]:
            made["homepage"] = part["homepage"]
        if part["purl"]:
            made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                     "referenceLocator": part["purl"]}]
        return made

    whole = {"name": "quadrant", "version": version, "license": "Apache-2.0", "homepage": "", "purl": ""}
    listed = [package("SPDXRef-quadrant", whole)]
    listed += [package(f"SPDXRef-{part['name']}", part) for part in parts]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-quadrant"}]
    relations += [{"spdxElementId": "SPDXRef-quadrant", "relationshipType": "CONTAINS",
                   "relatedSpdxElement": f"SPDXRef-{part['name']}"} for part in parts]
    digest = hashlib.sha256(json.dumps([name, listed]).encode()).hexdigest()
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
                "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest[:32]}",
                "creationInfo": {"created": created, "creators": ["Tool: scripts/third_party.py"]},
                "packages": listed, "relationships": relations}
    return json.dumps(document, indent=2) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["notices", "sbom"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("name", nargs="?", default="quadrant")
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--no-common", action="store_true", help="where Debian has the text of a license, leave it out")
    given = parser.parse_args()
    parts = components(given.build, given.library, given.python)
    print(notices(parts, not given.no_common) if given.what == "notices" else sbom(parts, given.name, given.version), end="")


if __name__ == "__main__":
    main()
