"""The documentation site, which scripts/site has built, in a browser: from its folder and over http, nothing is asked of
other machines, nothing complained about, and every page fits a phone.

    python3 tests/site_test.py [FOLDER]        of versions; build/site/html unless told
"""

import functools
import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/peers"), str(ROOT / "scripts")]
from _browser import Browser

VERSIONS = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ROOT / "build/site/html").resolve()
VERSION = re.search(r'QUADRANT_VERSION_STRING "([^"]+)"', (ROOT / "include/quadrant/version.hpp").read_text("utf-8"))[1]
SITE = VERSIONS / VERSION
PHONE = {"width": 390, "height": 844}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def our_pages():
    """All but copies of sources and Doxygen's."""
    pages = sorted(SITE.rglob("*.html"))
    return [page for page in pages if page.relative_to(SITE).parts[0] not in ("source", "cpp", "404.html")]


def served(test, folder):
    """The address of a server of the folder, for the time of a test, or of a class of tests."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    add = test.addClassCleanup if isinstance(test, type) else test.addCleanup
    add(server.server_close)
    add(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}/"


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.versions = served(cls, VERSIONS)
        cls.address = f"{cls.versions}{VERSION}/"

    def check_page(self, browser, place, start):
        browser.open(place)
        mine = (start, "data:", "blob:", start.removesuffix("/").rpartition("/")[0] + "/versions.js")
        asked = [request for request in browser.requests if not request.startswith(mine)]
        self.assertEqual((asked, browser.complaints), ([], []), place)

    def wait_for(self, browser, expression):
        until = time.monotonic() + 30
        while not browser.evaluate(expression) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertTrue(browser.evaluate(expression), expression)

    def check_width(self, browser, place):
        widest = ("[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
                  ".slice(0, 5).map((e) => e.tagName + '.' + e.className)")
        wide = browser.evaluate("document.documentElement.scrollWidth") > PHONE["width"]
        self.assertFalse(wide, f"{place}: {browser.evaluate(widest) if wide else ''}")

    def test_from_a_folder(self):
        with Browser() as browser:
            browser.look(**PHONE)
            self.assertGreater(len(our_pages()), 50)
            for page in our_pages():
                with self.subTest(page.name):
                    self.check_page(browser, page, SITE.as_uri())
                    self.check_width(browser, page)
            browser.open(SITE / "index.html")
            self.assertFalse(browser.evaluate("!!document.querySelector('[data-md-component=search]')"))

    def test_over_http(self):
        with Browser() as browser:
            browser.look()
            names = ["index.html", "tutorial.html", "notebooks/1_first_model.html", "python_reference.html", "cpp/index.html",
                     "cpp/annotated.html"]
            for name in names:
                with self.subTest(name):
                    self.check_page(browser, self.address + name, self.address)
            browser.open(self.address + "notebooks/1_first_model.html")
            self.assertTrue(browser.evaluate(
                "[...document.querySelectorAll('article img')].every((image) => image.naturalWidth > 100)"))
            self.assertGreaterEqual(browser.evaluate("document.querySelectorAll('article img').length"), 3)

    def test_search(self):
        with Browser() as browser:
            browser.look()
            self.check_page(browser, self.address + "index.html", self.address)
            browser.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
            browser.call("Input.insertText", text="zero point")
            found = "[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
            self.wait_for(browser, f"{found}.length > 0")
            links = browser.evaluate(found)
            self.assertTrue(any("glossary" in link or "encodings" in link for link in links), links)
            self.assertEqual(browser.complaints, [])

    def test_dark(self):
        with Browser() as browser:
            for scheme, name in (("light", "default"), ("dark", "slate")):
                browser.look(scheme=scheme)
                browser.open(self.address + "glossary.html")
                background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0] > 128"
                self.wait_for(browser, f"document.body.dataset.mdColorScheme == '{name}' && ({background}) == {str(scheme == 'light').lower()}")

    def test_leads_to_the_newest(self):
        with Browser() as browser:
            for place in (self.versions, VERSIONS.as_uri()):
                browser.open(place.removesuffix("/") + "/index.html")
                self.wait_for(browser, f"location.href.endsWith('/{VERSION}/index.html')")

    def test_versions(self):
        """Beside one that is older, and has a page less."""
        with tempfile.TemporaryDirectory() as name, Browser() as browser:
            folder = pathlib.Path(name)
            browser.look()
            for version in (VERSION, "0.0.9", "0.0.10"):
                shutil.copytree(SITE, folder / version, ignore=shutil.ignore_patterns("source", "cpp"))
            for version in ("0.0.9", "0.0.10"):
                for page in (folder / version).rglob("*.html"):
                    page.write_text(page.read_text("utf-8").replace(f'quadrantVersions, "{VERSION}"',
                                                                    f'quadrantVersions, "{version}"'), "utf-8")
            (folder / "0.0.9/glossary.html").unlink()
            subprocess.run([ROOT / "scripts/site_versions.py", folder], check=True)
            for start in (served(self, folder), folder.as_uri() + "/"):
                def chosen(page):
                    browser.open(f"{start}{page}")
                    self.assertEqual(browser.complaints, [])
                    return browser.evaluate("[...document.querySelectorAll('.md-version__link')].map((link) => link.href)")

                self.assertEqual(chosen(f"{VERSION}/glossary.html"),
                                 [f"{start}{VERSION}/glossary.html", f"{start}0.0.10/glossary.html", f"{start}0.0.9/index.html"])
                self.assertFalse(browser.evaluate("!!document.querySelector('.older-version')"))
                self.assertEqual(chosen("0.0.10/schemes/weight_only.html"),
                                 [f"{start}{version}/schemes/weight_only.html" for version in (VERSION, "0.0.10", "0.0.9")])
                self.assertEqual(browser.evaluate("document.querySelector('.older-version a').href"),
                                 f"{start}{VERSION}/schemes/weight_only.html")
                shown = "document.querySelector('.md-version__current').textContent"
                self.assertEqual(browser.evaluate(shown), "0.0.10")

    def test_pages_are_those_of_the_index(self):
        text = (ROOT / "docs/README.md").read_text("utf-8")
        before, _, rest = (SITE / "index.html").read_text("utf-8").partition("<article")
        links = set(re.findall(r'href="(?:[\w-]*/)*([\w.-]+\.html)"', before + rest.partition("</article>")[2]))
        for title, link in re.findall(r"^\| \[([^]]+)\]\(([^)#]+)\)", text, re.MULTILINE):
            with self.subTest(link):
                name = pathlib.PurePosixPath(link).name.rpartition(".")[0]
                name = {"README": "python", "CONTRIBUTING": "contributing"}.get(name, name)
                self.assertIn(f"{name}.html", links, title)


if __name__ == "__main__":
    unittest.main()
