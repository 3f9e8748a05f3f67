"""What MkDocs asks for while it builds the site: the navigation, of docs/README.md, and pages of what lies outside docs/,
notebooks among them.

Links from pages to sources lead to copies of these, as text; those to folders, to a list of their files.
"""

import base64
import json
import pathlib
import posixpath
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()(<?)([^)<>\s]+)(>?)(?=\))")
# Pages that lie elsewhere, where the site has them.
ELSEWHERE = {"python/README.md": "python.md", "CONTRIBUTING.md": "contributing.md", "README.md": "overview.md",
             "CHANGELOG.md": "changelog.md"}
API = "python_reference.md"
API_TEXT = """# Python reference

::: quadrant

## Schemes: quadrant.scheme

::: quadrant.scheme
    options:
      heading_level: 3
"""


NOTEBOOKS = "examples/notebooks/"


def page_elsewhere(path):
    """The site's page of a page outside docs/, or None."""
    if path.startswith(NOTEBOOKS) and path.endswith(".ipynb"):
        return f"notebooks/{pathlib.Path(path).stem}.md"
    return ELSEWHERE.get(path)


def version():
    text = (ROOT / "include/quadrant/version.hpp").read_text("utf-8")
    return re.search(r'QUADRANT_VERSION_STRING "([^"]+)"', text)[1]


def index():
    """[(heading, [(title, path)])]: what docs/README.md's tables say, of pages; paths are the site's."""
    parts = []
    for line in (ROOT / "docs/README.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            parts.append((line[3:], []))
        row = re.match(r"\| \[([^]]+)\]\(([^)#]+)\) \|(.*)\|", line)
        if row:
            path = posixpath.normpath(posixpath.join("docs", row[2]))
            page = page_elsewhere(path) or path.removeprefix("docs/")
            title = row[1] if not row[2].startswith("decisions/") else f"{row[1]}: {row[3].strip()}"
            parts[-1][1].append((title, page))
    return parts


def navigation():
    nav = [{"Pages": "README.md"}, {"Overview": "overview.md"}]
    for heading, pages in index():
        apart = (("Notebooks", "notebooks/"), ("Documents", "seeds/"), ("Decisions", "decisions/"))
        entries = [{title: page} for title, page in pages if not page.startswith(tuple(folder for _, folder in apart))]
        if heading == "Reference":
            entries += [{"Python reference": API}, {"C++ reference": "cpp/index.html"}]
        nav.append({heading: entries})
        for name, folder in apart:
            inside = [{title: page} for title, page in pages if page.startswith(folder)]
            if inside:
                entries.append({name: inside})
    return [*nav, {"Changelog": "changelog.md"}]


class Sources:
    """Copies of what pages link to, outside docs/."""

    def __init__(self, config):
        self.config, self.made = config, {}

    def add(self, name, content):
        if name not in self.made:
            self.made[name] = File.generated(self.config, name, content=content)

    def page_of(self, path):
        """The site's name for a path of the repository, which it then has."""
        if page_elsewhere(path):
            return page_elsewhere(path)
        if path.startswith("docs/") and path.endswith((".md", ".svg")):
            return path.removeprefix("docs/")
        file = ROOT / path
        if file.is_dir():
            page = f"source/{path}.md"
            if page not in self.made:
                listed = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "--", path],
                                        capture_output=True, text=True, check=True).stdout.split("\n")
                rows = [f"- [{name}]({posixpath.relpath(self.page_of(name), posixpath.dirname(page))})"
                        for name in listed if name]
                self.add(page, f"# {path}\n\n" + "\n".join(rows) + "\n")
            return page
        if not file.is_file():
            return None
        is_text = file.suffix not in (".onnx", ".npz", ".tflite", ".svg", ".png")
        name = f"source/{path}" + (".txt" if is_text else "")
        self.add(name, file.read_bytes())
        return name

    def relinked(self, text, path, page):
        """The text of the repository's `path`, for the site's `page`: with links to what the site has."""

        def target(match):
            link, _, anchor = match[2].partition("#")
            if not link or re.match(r"[a-z]+:", link):
                return match[0]
            found = self.page_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), link)))
            if found is None:
                return match[0]
            return posixpath.relpath(found, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

        pieces = re.split(r"(^ *```.*?^ *```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(piece if i % 2 else LINK.sub(target, piece) for i, piece in enumerate(pieces))


def notebook_page(sources, path):
    """A notebook as Markdown: cells, what they printed, and their pictures, which become files."""
    page, parts = page_elsewhere(path), []

    def picture(content, ending):
        name = f"{pathlib.Path(path).stem}_{len(parts)}.{ending}"
        sources.add(f"notebooks/{name}", content)
        parts.append(f"![What the cell drew]({name})")

    for cell in json.loads((ROOT / path).read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(sources.relinked(text, path, page))
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            shown = "".join(output.get("text", data.get("text/plain", "")))
            if "image/png" in data:
                picture(base64.b64decode(data["image/png"]), "png")
            elif "image/svg+xml" in data:
                picture("".join(data["image/svg+xml"]).encode(), "svg")
            else:
                parts.append("```text\n" + shown.rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


def on_config(config):
    config.nav = navigation()
    config.extra["version_here"] = version()
    return config


def on_files(files, config):
    sources = Sources(config)
    for file in list(files.documentation_pages()):
        text = (ROOT / "docs" / file.src_uri).read_text("utf-8")
        sources.add(file.src_uri, sources.relinked(text, f"docs/{file.src_uri}", file.src_uri))
    for path, page in ELSEWHERE.items():
        sources.add(page, sources.relinked((ROOT / path).read_text("utf-8"), path, page))
    for path in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        path = path.relative_to(ROOT).as_posix()
        sources.add(page_elsewhere(path), notebook_page(sources, path))
    sources.add(API, API_TEXT)
    sources.add("cpp/index.html", "")  # Doxygen's, which scripts/site puts there
    for name, file in sources.made.items():
        if name in files.src_uris:
            files.remove(files.src_uris[name])
        files.append(file)
    return files


def on_page_content(html, page, config, files):
    return html.replace("<p>::</p>\n", "")  # what docstrings put in front of code
