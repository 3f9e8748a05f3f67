#!/usr/bin/env python3
"""A folder of versions of the documentation site: which there are, for the chooser on their pages, and an index.html that
leads to the newest.

    scripts/site_versions.py FOLDER      FOLDER/0.2.0/index.html, FOLDER/0.1.0/index.html, ...

FOLDER/versions.js, a script, which pages may load from a folder, too: `quadrantVersions`, the newest first, each with
its pages, so that the chooser leads to the same page of another version where that has it.
"""

import json
import pathlib
import re
import sys

LEADS_ON = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Quadrant</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">Quadrant {0}</a>
"""


def main(folder):
    found = [path for path in folder.iterdir() if re.fullmatch(r"\d+(\.\d+)+", path.name) and (path / "index.html").is_file()]
    found.sort(key=lambda path: [int(part) for part in path.name.split(".")], reverse=True)
    if not found:
        sys.exit(f"{folder}: no version is there")
    versions = []
    for path in found:
        pages = sorted(page.relative_to(path).as_posix() for page in path.rglob("*.html"))
        versions.append({"version": path.name,
                         "pages": [page for page in pages if not page.startswith(("cpp/", "source/"))]})
    text = json.dumps(versions, indent=0)
    (folder / "versions.js").write_text(f"const quadrantVersions = {text}\n", "utf-8")
    (folder / "index.html").write_text(LEADS_ON.format(found[0].name), "utf-8")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(pathlib.Path(sys.argv[1]))
