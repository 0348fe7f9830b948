"""A document as one self-contained HTML file."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from engine.report.document import BLANK, Bullets, Document, Entries, Grid, Paragraph

if TYPE_CHECKING:
    from engine.report.document import Element

_CSS = """
@page { size: letter; margin: 17mm 15mm 15mm;
  @top-center { content: BANNER; font: bold 9pt sans-serif; }
  @bottom-center { content: counter(page) " of " counter(pages); font: 9pt sans-serif; } }
:root { color-scheme: light dark; }
body { font: 16px/1.5 "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif; max-width: 60rem; margin: 0 auto;
  padding: 1.5rem; color: #1a1a1a; background: #fff; }
.banner { text-align: center; font-weight: bold; border: 2px solid currentColor; padding: .3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; } h2 { font-size: 1.35rem; margin-top: 2rem; border-bottom: 1px solid #888; }
.subtitle { font-size: 1.15rem; color: #444; }
.lead { font-size: 1.15em; break-after: avoid; } .note { font-size: .92em; break-inside: avoid; }
.scroll + .note { break-before: avoid; }
.warning { border-left: 5px solid #D55E00; padding-left: .7rem; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0 1.2rem; font-size: .9em; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { border: 1px solid #999; padding: .25rem .5rem; vertical-align: top; text-align: left;
  overflow-wrap: break-word; }
thead th { background: #e6ebf0; hyphens: manual; }
.figure { text-align: right; font-variant-numeric: tabular-nums; }
tr, table, li, .warning { break-inside: avoid; } .new-page { break-before: page; }
section:first-of-type .entries { break-inside: auto; }
figure { margin: 1rem 0; break-inside: avoid; } figure img { max-width: 100%; height: auto; background: #fff; }
figcaption { font-weight: 600; }
h2, caption, .opening { break-after: avoid; }
.blank { color: #444; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #14181c; } thead th { background: #2a323a; } .subtitle, .blank { color: #bbb; } }
@media print { body { font-size: 8.8pt; line-height: 1.26; padding: 0; max-width: none; color: #000; background: #fff; }
  h1 { margin: 0; font-size: 17pt; } h2 { margin: .8rem 0 .4rem; font-size: 13pt; } p { margin: .35rem 0; }
  .subtitle { margin: .1rem 0; } .lead { font-size: 1.08em; } ul { margin: .3rem 0; }
  table { margin: .3rem 0 .6rem; } th, td { padding: .08rem .4rem; } figure { margin: .5rem 0; }
  .new-page h2 { margin-top: 0; }
  .banner { border: 0; padding: 0; margin: 0; font-size: 0; line-height: 0; } }
"""


def html_text(document: Document) -> str:
    """The whole file."""
    style = _CSS.replace("BANNER", _text(document.banner))  # browsers print it on every page too
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(document.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>",
    ]
    if document.banner:
        parts.append(f'<p class="banner">{escape(document.banner)}</p>')
    parts.append(f"<h1>{escape(document.title)}</h1>")
    if document.subtitle:
        parts.append(f'<p class="subtitle">{escape(document.subtitle)}</p>')
    for section in document.sections:
        new_page = ' class="new-page"' if section.new_page else ""
        parts.append(f"<section{new_page}>\n<h2>{escape(section.title)}</h2>")
        parts += [_element(element, opening=i < section.opening) for i, element in enumerate(section.elements)]
        parts.append("</section>")
    parts.append("</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def _text(text: str) -> str:
    """A text in a style sheet; every sign that could end it is escaped."""
    return '"' + "".join(c if c.isalnum() or c in " .,:" else f"\\{ord(c):x} " for c in text) + '"'


def _element(element: Element, *, opening: bool = False) -> str:
    if isinstance(element, Paragraph):
        kinds = [kind for kind, of in ((element.kind, element.kind != "plain"), ("opening", opening)) if of]
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<p{kind}>{escape(element.text)}</p>"
    if isinstance(element, Bullets):
        return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in element.items) + "</ul>"
    if isinstance(element, Entries):
        blank = f'<span class="blank">{BLANK}</span>'
        width = f"width:{100 * element.names:.0f}%"
        rows = "".join(
            f'<tr><th scope="row" style="{width}">{escape(name)}</th><td>{escape(value) or blank}</td></tr>'
            for name, value in element.rows
        )
        return f'<table class="entries"><tbody>{rows}</tbody></table>'
    if isinstance(element, Grid):
        return _grid(element)
    image = base64.b64encode(element.png).decode()
    return (
        f"<figure><figcaption>{escape(element.caption)}</figcaption>"
        f'<img style="width:{element.width}in" alt="{escape(element.alt)}" '
        f'src="data:image/png;base64,{image}"></figure>'
    )


def _grid(element: Grid) -> str:
    total = sum(element.widths)
    columns = "".join(f'<col style="width:{100 * w / total:.1f}%">' for w in element.widths)
    head = "".join(f'<th scope="col"{_figure(element, j)}>{escape(name)}</th>' for j, name in enumerate(element.header))
    body = []
    for row in element.rows:
        cells = "".join(f"<td{_figure(element, j)}>{escape(text)}</td>" for j, text in enumerate(row[1:], 1))
        body.append(f'<tr><th scope="row">{escape(row[0])}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table><caption>{escape(element.caption)}</caption><colgroup>{columns}</colgroup>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _figure(element: Grid, column: int) -> str:
    return ' class="figure"' if column in element.right else ""
