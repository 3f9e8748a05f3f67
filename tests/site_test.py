"""The documentation site, which scripts/site has built, in a browser: from its folder and over http, nothing is asked of
other machines, nothing complained about, and every page fits a phone.

    python3 tests/site_test.py [FOLDER]        build/site/html unless told
"""

import functools
import http.server
import pathlib
import re
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/peers"), str(ROOT / "scripts")]
from _browser import Browser

SITE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ROOT / "build/site/html").resolve()
PHONE = {"width": 390, "height": 844}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def our_pages():
    """All but copies of sources and Doxygen's."""
    pages = sorted(SITE.rglob("*.html"))
    return [page for page in pages if page.relative_to(SITE).parts[0] not in ("source", "cpp", "404.html")]


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=SITE))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}/"

    def check_page(self, browser, place, start):
        browser.open(place)
        asked = [request for request in browser.requests if not request.startswith((start, "data:", "blob:"))]
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
