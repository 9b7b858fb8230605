"""Plots as SVG text: one row for each case, one mark for each peer, on a logarithmic axis of ours / theirs."""
import math
from xml.sax.saxutils import escape

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#9c6b4e", "#ff8ab7")
WIDTH, ROW, TOP, BOTTOM = 560, 22, 46, 30
LETTER = 7  # more than the width of most of them


def ratios(rows, names):
    entries = [entry for row in rows for entry in row["peers"].values()]
    low = min([entry["low"] for entry in entries] + [0.5])
    high = max([entry["high"] for entry in entries] + [2])
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    height = TOP + ROW * len(rows) + BOTTOM
    left_of_plot = 16 + LETTER * max(len(row["case"]) for row in rows)
    shown = [(name, colour) for name, colour in zip(names, COLOURS) if any(name in row["peers"] for row in rows)]

    def x(ratio):
        return left_of_plot + WIDTH * (math.log10(ratio) - first) / (last - first)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left_of_plot + WIDTH + 20}" height="{height}"',
             ' font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    at = 10
    for name, colour in shown:
        parts.append(f'<circle cx="{at}" cy="16" r="5" fill="{colour}"/><text x="{at + 9}" y="20">{escape(name)}</text>')
        at += 30 + LETTER * len(name)
    for power in range(first, last + 1):
        value = 10.0**power
        parts.append(f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP - 8}" y2="{height - BOTTOM}" stroke="#ddd"/>'
                     f'<text x="{x(value):.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 8}" y2="{height - BOTTOM}" stroke="black"/>'
                 f'<text x="{x(1) - 6:.1f}" y="{TOP - 10}" text-anchor="end" fill="#666">Weft is faster</text>')
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        parts.append(f'<text x="{left_of_plot - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(row["case"])}</text>')
        for name, colour in shown:
            entry = row["peers"].get(name)
            if entry:
                left, middle, right = (x(entry[key]) for key in ("low", "ratio", "high"))
                parts.append(f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
                             f'<circle cx="{middle:.1f}" cy="{y}" r="4.5" fill="{colour}" fill-opacity="0.85"/>')
    return "\n".join(parts + ["</svg>\n"])
