"""Tables of float models in pages of the documentation: what the scripts share that make one.

A page has a table between `<!-- table: NAME -->` and `<!-- end: NAME -->`; with it, its notes.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


@dataclasses.dataclass
class Row:
    """`notes`: lines below the table; `figures`: what the lines about all rows are made of."""

    cells: tuple
    notes: list = ()
    figures: list = ()


# --- models ------------------------------------------------------------------------------------------


def is_float_model(command, model):
    shown = subprocess.run([str(command), "inspect", str(model), "--json"], capture_output=True,
                           text=True, check=True).stdout
    return "dequantize" not in json.loads(shown)["operations"]


def float_models(options):
    """Of all folders; ends the script where there are none."""
    found = False
    for folder in options.models:
        for model in sorted(folder.glob("*.onnx")):
            if is_float_model(options.command, model):
                found = True
                yield model
            else:
                print(f"{model.name} is quantized already: left out")
    if not found:
        sys.exit(f"no float models in {', '.join(map(str, options.models))}")


# --- the page ----------------------------------------------------------------------------------------


def markdown_table(header, rows, left=("model", "setting", "inputs")):
    """Numbers to the right, columns of these names to the left."""
    text = [f"| {' | '.join(row)} |" for row in [header, *rows]]
    text.insert(1, "|" + "".join("---|" if name in left else "---:|" for name in header))
    return "\n".join(text)


def replace_between(page, name, content):
    """The text of the page with the content between the marks of that name."""
    text = page.read_text()
    begin, end = f"<!-- table: {name} -->", f"<!-- end: {name} -->"
    if begin not in text or end not in text:
        sys.exit(f"{page} has no '{begin}' and '{end}'")
    head, rest = text.split(begin)
    return f"{head}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"


# --- the script --------------------------------------------------------------------------------------


def add_arguments(parser):
    parser.add_argument("--models", type=pathlib.Path, nargs="+",
                        default=[ROOT / "examples" / "models"], help="folders of ONNX models")
    parser.add_argument("--inputs", type=pathlib.Path, help="folder of the files that "
                        "docs/accuracy_inputs.json names; without it, random inputs")
    parser.add_argument("--command", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "bin" / "quadrant")


def gains_over_first(names):
    """What `closing` of `write_table` says of columns of decibels: how far each is from the first."""

    def closing(rows):
        lines = []
        for i, name in list(enumerate(names))[1:]:
            gains = [row.figures[i] - row.figures[0] for row in rows]
            lines.append(f"- {name}: {sum(gains) / len(gains):+.1f} dB on average, {min(gains):+.1f} dB at the worst")
        return lines

    return closing


def write_table(about, page, header, measure, name="{}", closing=lambda rows: []):
    """The main function of a script: replaces a table of `page`.

    `about`: the script's docstring. `measure(options, model, folder)`: the rows of one model, of which
    there may be none; the folder is empty, and goes afterwards. `name`: of the table, from what --table
    says. `closing(rows)`: lines below the table and the notes of its rows.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--table", default="examples", help="which table of the page to replace")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    options = parser.parse_args()
    name = name.format(options.table)
    replace_between(page, name, "")  # says that there is no such table before the work is done
    rows = []
    for model in float_models(options):
        with tempfile.TemporaryDirectory() as folder:
            found = measure(options, model, pathlib.Path(folder))
        for row in found:
            print("  ".join(row.cells), flush=True)
        rows += found
    if not rows:
        sys.exit(f"no models for this table in {', '.join(map(str, options.models))}")
    notes = [*(note for row in rows for note in row.notes), *closing(rows)]
    print("\n".join(notes))
    if not options.dry_run:
        parts = [markdown_table(header, [row.cells for row in rows]), "\n".join(notes)]
        page.write_text(replace_between(page, name, "\n\n".join(part for part in parts if part)))
