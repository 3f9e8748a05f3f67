"""A picture of number formats, by error and bits a weight, as SVG: what scripts/formats_table.py draws.

Two panels: all formats, and larger, those of 4 to 4.8 bits, which are near each other and named there alone.
"""

import dataclasses
import html

WIDTH, HEIGHT = 800, 470
TOP, BOTTOM = 58, 414
TEXT = 11  # pixels a line; letters are a little more than half as wide
RADIUS = 4
DB_A_BIT = 6.0206

# What texts of formats are called here, where a whole one has no room.
SHORT = {
    "nf4 * +-f16[block=64] : f32": "nf4, +-f16 of 64",
    "i4 * f16[block=256] * i6[block=16] : f32": "i4, f16, i6 of 16",
    "i4<-7:7> * f32[channel] * u4<1:16>[block=16] : f32": "i4, f32, u4 of 16",
    "table<16 x f16>[tensor] * f32[tensor] * +-f8e4m3[block=16] : f32": "table of 16, +-f8e4m3 of 16",
}
# Kinds of formats: what their names begin with, the first that fits; and how their points look.
KINDS = {
    "tables": ("nf4", "fp4", "iq4nl", "codebook", "table"),
    "floats": ("fp8", "mxfp", "nvfp"),
    "integers, levels of scales": ("lpbq", "q4_k", "q5_k", "q6_k", "i4"),
    "integers": ("int", "uint"),
}
STYLE = """
  text { font: 11px sans-serif; fill: #24292f }
  .title { font-weight: bold }
  .back { fill: #ffffff } .grid { stroke: #d8dee4 } .bound { stroke: #24292f; stroke-dasharray: 6 3 }
  .window { fill: none; stroke: #6e7781 }
  .tables { fill: #b35900 } .floats { fill: #7a3fc4 } .levels { fill: #0a7a33 } .integers { fill: #0b62c4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .back { fill: #161b22 } .grid { stroke: #30363d } .bound { stroke: #e6edf3 } .window { stroke: #9198a1 }
    .tables { fill: #f0a050 } .floats { fill: #bc8cff } .levels { fill: #4cc36a } .integers { fill: #6cb2ff }
  }
"""


@dataclasses.dataclass
class Panel:
    """From `left` to `right` on the picture; `bits` and `decibels`: (least, most, between two lines)."""

    title: str
    left: float
    right: float
    bits: tuple
    decibels: tuple

    def x(self, bits):
        return self.left + (bits - self.bits[0]) / (self.bits[1] - self.bits[0]) * (self.right - self.left)

    def y(self, decibels):
        return BOTTOM - (decibels - self.decibels[0]) / (self.decibels[1] - self.decibels[0]) * (BOTTOM - TOP)

    def holds(self, bits, decibels):
        return self.bits[0] <= bits <= self.bits[1] and self.decibels[0] <= decibels <= self.decibels[1]


ALL = Panel("All formats", 36, 382, (2, 8.5, 1), (5, 50, 5))
NEAR = Panel("4 to 4.8 bits", 434, 780, (4, 4.8, 0.1), (18.5, 25, 1))


def window():
    """Where the second panel's formats are in the first: (left, top, right, bottom)."""
    (low, high, _), (least, most, _) = NEAR.bits, NEAR.decibels
    return ALL.x(low), ALL.y(most), ALL.x(high), ALL.y(least)


def kind_of(name):
    return next(kind for kind, begins in KINDS.items() if name.startswith(begins))


def style_of(kind):
    return kind.split()[-3] if "levels" in kind else kind


def point(kind, x, y):
    """Kinds differ in shape, too."""
    size, name = RADIUS, style_of(kind)
    if kind == "integers":
        return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
    corners = {"tables": ((-1, -1), (1, -1), (1, 1), (-1, 1)), "floats": ((0, -1.2), (1.2, 1), (-1.2, 1))}
    corners = corners.get(kind, ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)))
    places = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return f'<polygon class="{name}" points="{places}"/>'


# --- names beside points -------------------------------------------------------------------------


def overlap(one, other):
    """The area that two boxes (left, top, right, bottom) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0, width) * max(0, height)


def box_of(name, x, y, place):
    """Where a name is, if it stands to the right, left, above or below of its point, or between these."""
    width, side, up = 0.55 * TEXT * len(name), *place
    left = x + side * (RADIUS + 3) - (width / 2) * (1 - side)
    middle = y + up * (RADIUS + (5 if side else 7))
    return left, middle - TEXT / 2, left + width, middle + TEXT / 2


PLACES = [(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1), (1, 1.7), (-1, 1.7)]


def placed(panel, points, all_points):
    """A box for each (name, x, y) of `points`: with the least that it covers of others, of points, of the
    bound and of the edge. Names take turns until none moves."""
    line = [(bits, DB_A_BIT * bits) for bits in
            (panel.bits[0] + i * (panel.bits[1] - panel.bits[0]) / 150 for i in range(151))]
    line = [(panel.x(bits), panel.y(decibels)) for bits, decibels in line if panel.holds(bits, decibels)]
    marks = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in all_points]
    marks += [(x - 1, y - 1, x + 1, y + 1) for x, y in line]
    if panel is ALL:
        left, top, right, bottom = window()
        marks += [(left - 1, top, left + 1, bottom), (right - 1, top, right + 1, bottom)]
        marks += [(left, top - 1, right, top + 1), (left, bottom - 1, right, bottom + 1)]
    inside = (panel.left + 2, TOP + 2, panel.right - 2, BOTTOM - 2)
    boxes = {}

    def cost(name, box, rank):
        others = sum(overlap(box, other) for key, other in boxes.items() if key != name)
        outside = (box[2] - box[0]) * (box[3] - box[1]) - overlap(box, inside)
        return 2 * others + 4 * outside + 3 * sum(overlap(box, mark) for mark in marks) + rank

    for _ in range(20):
        before = dict(boxes)
        for name, x, y in points:
            tried = [box_of(name, x, y, place) for place in PLACES]
            boxes[name] = min(tried, key=lambda box: cost(name, box, tried.index(box)))
        if boxes == before:
            break
    return boxes


# --- the picture ---------------------------------------------------------------------------------


def ticks(least, most, step):
    first = -(-round(least * 1000) // round(step * 1000))
    return [i * step for i in range(first, int(most / step + 1e-9) + 1)]


def text(words, x, y, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def axes(panel):
    parts = [text(panel.title, panel.left, TOP - 10, more=' class="title"')]
    for bits in ticks(*panel.bits):
        x = panel.x(bits)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>')
        parts.append(text(f"{bits:g}", x, BOTTOM + 15, "middle"))
    for decibels in ticks(*panel.decibels):
        y = panel.y(decibels)
        parts.append(f'<path class="grid" d="M{panel.left} {y:.1f}H{panel.right}"/>')
        parts.append(text(f"{decibels:g}", panel.left - 5, y + 4, "end"))
    parts.append(text("bits a weight", (panel.left + panel.right) / 2, BOTTOM + 31, "middle"))
    low = max(panel.bits[0], panel.decibels[0] / DB_A_BIT)
    high = min(panel.bits[1], panel.decibels[1] / DB_A_BIT)
    parts.append(f'<path class="bound" d="M{panel.x(low):.1f} {panel.y(low * DB_A_BIT):.1f}'
                 f'L{panel.x(high):.1f} {panel.y(high * DB_A_BIT):.1f}"/>')
    return parts


def legend():
    parts, x = [], 36
    for kind in sorted(KINDS):
        parts += [point(kind, x, HEIGHT - 11), text(kind, x + 9, HEIGHT - 7)]
        x += 32 + 0.5 * TEXT * len(kind)
    parts.append(f'<path class="bound" d="M{x} {HEIGHT - 11}h26"/>')
    return [*parts, text("6.02 dB a bit: what no codes exceed", x + 32, HEIGHT - 7)]


def picture(figures):
    """`figures`: (format, bits a weight, dB) of each."""
    figures = [(SHORT.get(name, name), kind_of(name), bits, decibels) for name, bits, decibels in figures]
    drawn = []
    for panel in (ALL, NEAR):
        drawn += axes(panel)
        if panel is ALL:
            left, top, right, bottom = window()
            drawn.append(f'<rect class="window" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                         f'height="{bottom - top:.1f}"/>')
        here = [each for each in figures if panel.holds(*each[2:])]
        drawn += [point(kind, panel.x(bits), panel.y(decibels)) for _, kind, bits, decibels in here]
        named = [(name, panel.x(bits), panel.y(decibels)) for name, _, bits, decibels in here
                 if panel is NEAR or not NEAR.holds(bits, decibels)]
        boxes = placed(panel, named, [(panel.x(bits), panel.y(decibels)) for *_, bits, decibels in here])
        for name, x, _ in named:
            left, top, right, _ = boxes[name]
            anchor, at = ("start", left) if left > x else ("end", right) if right < x else ("middle", x)
            drawn.append(text(name, at, top + TEXT - 2, anchor))
    about = ("SQNR in dB of weights from a normal distribution, by bits a weight, of each number format, with the "
             "line of 6.02 dB a bit that none exceeds")
    return "\n".join((f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
                      f'height="{HEIGHT}" role="img" aria-labelledby="title">', f'<title id="title">{about}</title>',
                      f"<style>{STYLE}</style>", f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
                      text("SQNR in dB, normal distribution, codes and scales found by search", 12, 22,
                           more=' class="title"'), *drawn, *legend(), "</svg>\n"))
