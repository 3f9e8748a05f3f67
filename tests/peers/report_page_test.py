"""The report's page in a real browser: it asks the network for nothing, complains about nothing, sorts,
filters and folds by keyboard, reads without scripts, and has a row for everything in the model.

Screenshots (light, dark, narrow, without scripts) are kept in `report_page/` of the folder that it is
run in, for people to look at.
"""

import json
import os
import pathlib
import sys

from _browser import EXECUTABLE, Browser
from _command import ROOT, quadrant, run_tests, scratch

if EXECUTABLE is None:
    print("no Chromium: run scripts/setup")
    sys.exit(77)

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from onnx_writer import model, node, tensor, value_info

EXAMPLES = ROOT / "examples" / "models"
SHARED = ROOT.parent / "shared" / "models"
PICTURES = pathlib.Path(os.environ.get("QUADRANT_ARTEFACTS", ".")) / "report_page"
SCHEME = ("--scheme", "weight-only")


def succeeds(*arguments):
    done = quadrant(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(path, options):
    """(weights, operations) of a model, as `explain --all` lists them."""
    entries = json.loads(succeeds("explain", path, *options, "--all", "--json"))["explanations"]
    constants = sum(entry["kind"] == "constant" for entry in entries)
    return constants, len(entries) - constants


def check_quiet(browser, page):
    assert browser.requests == [page.resolve().as_uri()], browser.requests
    assert not browser.complaints, browser.complaints


def column(browser, index):
    """What a column of the table of weights says, from above."""
    return browser.evaluate(
        "[...document.querySelectorAll('#weights-table > tbody')]"
        f".map((group) => group.rows[0].cells[{index}].textContent.trim())")


def numbers(texts):
    return [float(text.replace(",", "")) for text in texts if text[0].isdigit() or text[0] == "-"]


def check_table(browser):
    bytes_column = 4
    assert numbers(column(browser, bytes_column)) == sorted(numbers(column(browser, bytes_column)),
                                                            reverse=True)
    button = "document.querySelectorAll('#weights-table thead button')"
    browser.evaluate(f"{button}[{bytes_column}].focus()")
    browser.press("Enter", "\r")  # sorted by it already: turned round
    found = numbers(column(browser, bytes_column))
    assert found == sorted(found), found
    header = f"document.querySelectorAll('#weights-table th[aria-sort]')"
    assert browser.evaluate(f"[...{header}].map((cell) => cell.getAttribute('aria-sort'))") == \
        ["ascending"]
    browser.evaluate(f"{button}[0].click()")
    names = column(browser, 0)
    assert names == sorted(names), names

    wanted = names[-1]
    browser.evaluate("document.querySelector('[data-filter=weights-table]').focus()")
    browser.call("Input.insertText", text=wanted)
    shown = browser.evaluate("[...document.querySelectorAll('#weights-table > tbody')]"
                             ".filter((group) => group.checkVisibility())"
                             ".map((group) => group.rows[0].cells[0].textContent.trim())")
    assert wanted in shown and len(shown) <= len(names), shown
    browser.evaluate("{ const box = document.querySelector('[data-filter=weights-table]');"
                     " box.value = ''; box.dispatchEvent(new Event('input')); }")

    visible = "document.querySelector('.detail').checkVisibility()"
    assert not browser.evaluate(visible)
    browser.evaluate("document.querySelector('.fold').focus()")
    browser.press("Enter", "\r")
    assert browser.evaluate(visible)
    assert browser.evaluate("document.querySelector('.fold').getAttribute('aria-expanded')") == "true"


def check_graph(browser):
    row = "document.querySelector('details.row')"
    browser.evaluate(f"{row}.querySelector('summary').focus()")
    browser.press("Enter", "\r")
    assert browser.evaluate(f"{row}.open")
    # Lanes reach from the top of each row to its bottom, however high it is.
    assert browser.evaluate(
        "[...document.querySelectorAll('details.row')].every((row) => {"
        "  const lanes = row.querySelector('.lanes').getBoundingClientRect();"
        "  const whole = row.getBoundingClientRect();"
        "  return Math.abs(lanes.height - whole.height) < 1.5; })")


def check_activations(browser):
    """The section of activations, if there is one: the worst first, figures that can be, and rows that open to
    what fits into the window."""
    rows = "[...document.querySelectorAll('#activations-table > tbody')]"
    if not browser.evaluate(f"{rows}.length"):
        return 0
    sorts = browser.evaluate(f"{rows}.map((group) => [...group.rows[0].cells].map((cell) => cell.dataset.sort))")
    names = browser.evaluate("[...document.querySelectorAll('#activations-table thead th')]"
                             ".map((cell) => cell.textContent.trim())")
    column = {name: [float(row[i]) for row in sorts] for i, name in enumerate(names) if sorts[0][i] is not None}
    assert column["SQNR, dB"] == sorted(column["SQNR, dB"]), column["SQNR, dB"]
    for title in ("clipped, %", "low end, %", "high end, %"):
        assert all(0 <= share <= 1 for share in column[title]), (title, column[title])
    browser.evaluate("document.querySelector('#activations .fold').click()")
    box = ("(() => { const box = document.querySelector('#activations svg.histogram').getBoundingClientRect();"
           " return [box.left, box.right, box.height]; })()")
    left, right, height = browser.evaluate(box)
    width = browser.evaluate("innerWidth")
    assert 0 <= left < right <= width and height > 30, (left, right, height, width)
    browser.evaluate("document.querySelector('#activations .fold').click()")
    button = "document.querySelectorAll('#activations-table thead button')"
    browser.evaluate(f"{button}[{names.index('clipped, %')}].click()")
    found = browser.evaluate(f"{rows}.map((group) => Number(group.rows[0].cells[{names.index('clipped, %')}]"
                             ".dataset.sort))")
    assert found == sorted(found, reverse=True), found
    return len(sorts)


def check_page(browser, name, path, page, options):
    weights, operations = rows_of(path, options)
    browser.look()
    browser.open(page)
    counts = browser.evaluate("[document.querySelectorAll('tbody.weight').length,"
                              " document.querySelectorAll('details.row').length]")
    assert counts[1] == operations, (counts, operations)
    assert 0 < counts[0] <= weights, (counts, weights)  # others hold no real numbers
    browser.screenshot(PICTURES / f"{name}-light.png", whole=True)
    check_table(browser)
    check_graph(browser)
    activations = check_activations(browser)
    assert (activations > 0) == (name == "static_affine"), (name, activations)
    if activations:
        browser.evaluate("document.querySelector('#activations').scrollIntoView()")
        browser.screenshot(PICTURES / f"{name}-activations.png")
    browser.evaluate("document.querySelector('#weights').scrollIntoView()")
    browser.screenshot(PICTURES / f"{name}-open.png")
    browser.evaluate("document.querySelector('#graph').scrollIntoView()")
    browser.screenshot(PICTURES / f"{name}-graph.png")
    check_quiet(browser, page)
    light = browser.evaluate("getComputedStyle(document.body).backgroundColor")

    browser.look(scheme="dark")
    browser.open(page)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") != light
    browser.screenshot(PICTURES / f"{name}-dark.png", whole=True)
    check_quiet(browser, page)

    browser.look(width=390, height=844)
    browser.open(page)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    browser.screenshot(PICTURES / f"{name}-narrow.png", whole=True)
    check_activations(browser)
    check_quiet(browser, page)

    browser.look(scripts=False)
    browser.open(page)
    assert browser.evaluate("[...document.querySelectorAll('.detail')]"
                            ".every((row) => row.checkVisibility())")
    assert not browser.evaluate("document.querySelector('.filter').checkVisibility()")
    browser.screenshot(PICTURES / f"{name}-plain.png")
    check_quiet(browser, page)


def check_model(name, path, command, *options):
    with scratch() as folder, Browser() as browser:
        page = folder / "page.html"
        output = ("-o", folder / "out.onnx") if command == "quantize" else ()
        succeeds(command, path, *output, *options, "--report", page)
        check_page(browser, name, path, page, options)


def calibrated(path, folder, *data):
    statistics = folder / "statistics.json"
    succeeds("calibrate", path, "--random", "2", *data, "-o", statistics)
    return "--scheme", "static-affine", "--calibration", statistics


def test_models():
    PICTURES.mkdir(parents=True, exist_ok=True)
    tiny = EXAMPLES / "digits_cnn.onnx"
    yield "tiny", check_model, "tiny", tiny, "quantize", *SCHEME
    yield "plan", check_model, "plan", tiny, "plan", *SCHEME
    if not SHARED.is_dir():
        print(f"{SHARED} is not there: its models are not tested")
        return
    yield ("llama", check_model, "llama", SHARED / "stories260k_llama.onnx", "quantize", *SCHEME,
           "--bits", "4", "--block-size", "32")
    mobilenet = SHARED / "mobilenet_v2_035_flowers.onnx"
    yield "mobilenet", check_model, "mobilenet", mobilenet, "quantize", *SCHEME


def test_static_affine():
    path = SHARED / "mobilenet_v2_035_flowers.onnx"
    shape = ("--shape", "input_1=1x3x128x128")
    if not path.is_file():
        path, shape = EXAMPLES / "digits_cnn.onnx", ()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with scratch() as folder:
        check_model("static_affine", path, "quantize", *calibrated(path, folder, *shape))


def test_errors_of_layers():
    """The page of `compare`, at both widths."""
    path = EXAMPLES / "digits_cnn.onnx"
    PICTURES.mkdir(parents=True, exist_ok=True)
    with scratch() as folder, Browser() as browser:
        succeeds("quantize", path, "-o", folder / "out.onnx", *calibrated(path, folder))
        page = folder / "page.html"
        succeeds("compare", path, folder / "out.onnx", "--random", "2", "--report", page)
        for look in ({}, {"scheme": "dark"}, {"width": 390, "height": 844}):
            browser.look(**look)
            browser.open(page)
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
            kind = "-".join(str(value) for value in look.values()) or "light"
            browser.evaluate("document.querySelector('#activations .fold').click()")
            browser.screenshot(PICTURES / f"compare-{kind}.png", whole=True)
            browser.evaluate("document.querySelector('#activations .fold').click()")
            assert check_activations(browser) > 3
            out = browser.evaluate("[...document.querySelectorAll('#activations-table > tbody')]"
                                   ".map((group) => Number(group.rows[0].cells[9].dataset.sort))")
            assert any(db > 5 for db in out), out
            check_quiet(browser, page)


def test_all_that_is_optional():
    path = EXAMPLES / "digits_cnn.onnx"
    with scratch() as folder, Browser() as browser:
        PICTURES.mkdir(parents=True, exist_ok=True)
        succeeds("sensitivity", path, *SCHEME, "--random", "2", "--cache", folder / "cache.json")
        page = folder / "page.html"
        succeeds("quantize", path, "--dry-run", *SCHEME, "--report", page, "--sensitivity",
                 folder / "cache.json")
        browser.look()
        browser.open(page)
        assert browser.evaluate("document.querySelectorAll('svg.loss').length") > 0
        browser.evaluate("document.querySelector('#sensitivity').scrollIntoView()")
        browser.screenshot(PICTURES / "sensitivity.png")
        check_quiet(browser, page)


def check_frontier(browser, name, page, chosen):
    """The section of the frontier, in every look that a page has; `chosen`: how many points are."""
    circles = "document.querySelectorAll('#frontier svg.chart circle')"
    for look in ({}, {"scheme": "dark"}, {"width": 390, "height": 844}, {"scripts": False}):
        browser.look(**look)
        browser.open(page)
        assert browser.evaluate(f"{circles}.length") > 5
        assert browser.evaluate("document.querySelectorAll('#frontier circle.chosen').length") == chosen
        assert browser.evaluate("document.querySelectorAll('#frontier tbody.chosen').length") == chosen
        # Everything that is drawn is seen, inside the picture.
        assert browser.evaluate(
            "(() => { const frame = document.querySelector('#frontier svg').getBoundingClientRect();"
            f"  return [...{circles}].every((circle) => {{"
            "    const box = circle.getBoundingClientRect();"
            "    return box.width > 0 && box.left >= frame.left && box.right <= frame.right &&"
            "           box.top >= frame.top && box.bottom <= frame.bottom; }); })()")
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
        kind = "-".join(str(value) for value in look.values()) or "light"
        browser.screenshot(PICTURES / f"{name}-{kind}.png")
        check_quiet(browser, page)
    browser.look()
    browser.open(page)
    cells = ("[...document.querySelectorAll('#frontier tbody')]"
             ".map((group) => Number(group.rows[0].cells[3].dataset.sort))")
    for is_rising in (False, True):  # numbers: the largest first
        browser.evaluate("document.querySelectorAll('#frontier thead button')[3].click()")
        errors = [error if error is not None else float("-inf") for error in browser.evaluate(cells)]
        assert errors == sorted(errors, reverse=not is_rising), errors
    check_quiet(browser, page)


def test_frontier_of_pareto():
    with scratch() as folder, Browser() as browser:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page = folder / "page.html"
        succeeds("pareto", EXAMPLES / "digits_cnn.onnx", *SCHEME, "--report", page)
        check_frontier(browser, "pareto", page, 0)


def test_frontier_of_a_budget():
    path = EXAMPLES / "digits_cnn.onnx"
    with scratch() as folder, Browser() as browser:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page = folder / "page.html"
        output = folder / "out.onnx"
        for command in (("quantize", path, "-o", output), ("plan", path)):
            succeeds(*command, *SCHEME, "--target-bits", "6", "--report", page)
            check_frontier(browser, f"budget-{command[0]}", page, 1)


def test_hostile_names_run_nothing():
    evil = "</script><script>console.error(1)</script><img src='x' onerror='console.error(2)'>\u2028"
    made = model([node("MatMul", ["x", evil], ["y"], evil)],
                 [tensor(evil, [4, 4], [0.5 - i for i in range(16)])],
                 [value_info("x", ["n", 4])], [value_info("y", ["n", 4])])
    with scratch() as folder, Browser() as browser:
        (folder / "evil.onnx").write_bytes(made)
        page = folder / "page.html"
        succeeds("quantize", folder / "evil.onnx", "-o", folder / "out.onnx", *SCHEME, "--gain",
                 "unit", "--report", page)
        browser.look()
        browser.open(page)
        check_quiet(browser, page)
        assert browser.evaluate("document.images.length + document.scripts.length") == 1
        assert "console.error(1)" in browser.evaluate(
            "document.querySelector('tbody.weight th').textContent")


def test_what_a_page_fetches_and_says_is_seen():
    """The tests above would notice."""
    with scratch() as folder, Browser() as browser:
        page = folder / "bad.html"
        page.write_text("<script>console.error('seen')</script><img src='missing.png'>")
        browser.look()
        browser.open(page)
        assert len(browser.requests) == 2, browser.requests
        assert any("seen" in complaint for complaint in browser.complaints), browser.complaints


def test_many_nodes():
    """100,000 operations: the page stays small, and the browser shows it."""
    nodes = [node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(100_000)]
    nodes.append(node("MatMul", ["v100000", "w"], ["y"]))
    made = model(nodes, [tensor("w", [4, 4], [1.0] * 16)],
                 [value_info("x", ["n", 4])], [value_info("y", ["n", 4])])
    with scratch() as folder, Browser() as browser:
        (folder / "many.onnx").write_bytes(made)
        page = folder / "page.html"
        succeeds("quantize", folder / "many.onnx", "-o", folder / "out.onnx", *SCHEME, "--report", page)
        assert page.stat().st_size < 20e6, page.stat().st_size
        browser.look()
        browser.open(page)
        assert browser.evaluate("document.querySelectorAll('details.row').length") == 5000
        assert "95,003 operations" in browser.evaluate("document.body.textContent")
        check_quiet(browser, page)


if __name__ == "__main__":
    run_tests(globals())
