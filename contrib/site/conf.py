# SPDX-License-Identifier: GPL-2.0-or-later
"""Sphinx' configuration for the site; `build` beside it gives the version."""

import re
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes

project = "spank-tf"
extensions = ["myst_parser"]
myst_heading_anchors = 6
# As on GitHub: no typographic quotes and dashes, and no guess at the language of a block.
smartquotes = False
highlight_language = "text"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_use_index = False
# Unlike the other files, not looked for beside this one.
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

MANUAL = re.compile(r"\b([a-z][a-z_-]*)\(([1578])\)")


def link_manuals(app, doctree, docname):
    """spank-tf(7) in a text leads to that page, if the site has it."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.reference, nodes.literal, nodes.title, nodes.literal_block, nodes.raw)):
            continue
        pieces, end = [], 0
        for match in MANUAL.finditer(text):
            page = f"man/{match[1]}.{match[2]}"
            if page in app.env.found_docs:
                uri = app.builder.get_relative_uri(docname, page)
                pieces += [nodes.Text(text[end:match.start()]),
                           nodes.reference("", match[0], internal=True, refuri=uri, classes=["word"])]
                end = match.end()
        if pieces:
            text.parent.replace(text, pieces + [nodes.Text(text[end:])])


# What the manual pages explain by name: options, arguments of plugstack.conf, variables.
EXPLAINED = re.compile("--[a-z0-9-]+|[a-z_]+=|[A-Z][A-Z0-9_]{3,}")


def index_names(app, doctree):
    """The search finds these names, and leads to where a manual page explains them; messages only mention them."""
    objects = app.env.domains["std"].objects
    explains = app.env.docname.startswith("man/") and "-messages" not in app.env.docname
    for raw in doctree.findall(nodes.raw) if explains else ():
        for term in BeautifulSoup(raw.astext(), "html.parser").find_all("dt", id=True):
            for name in EXPLAINED.findall(term.get_text()):
                objects.setdefault(("envvar" if name.isupper() else "cmdoption", name), (app.env.docname, term["id"]))


# What is too long for the cell of a table.
LONG_NAME = re.compile(r"\w{27,}")

# Names and dates that stay on one line in a heading.
NAMES = re.compile(r"\b(?:spank|tf)-[a-z]+|\(?\d{4}-\d\d-\d\d\)?")


def adapt_html(app, pagename, templatename, context, doctree):
    """What Sphinx has no words for, and site.css needs."""
    page = BeautifulSoup(context.get("body") or "", "html.parser")
    keep_words(page)
    for table in page.find_all("table", class_="docutils"):
        join_groups(table)
        name_cells(table)
        break_names(table)
    context["body"] = str(page)


def keep_words(page):
    """Short words of code, as options, and names stay on one line: browsers break lines after hyphens."""
    for word in page.select("code .pre"):
        if word.find_parent(re.compile("^h[1-6]$")):
            continue
        if len(word.get_text()) <= 26:
            word["class"].append("word")
        elif word.string:       # a list, or what may be chosen, may be broken between its items
            items = [f'<span class="word">{escape(item)}</span>' if len(item) <= 26 else escape(item)
                     for item in re.split("(?<=[,|])", word.string)]
            word.string.replace_with(BeautifulSoup("<wbr>".join(items), "html.parser"))
    for text in [text for heading in page.find_all(re.compile("^h[1-6]$")) for text in heading.find_all(string=NAMES)]:
        if not text.find_parent("code"):
            html = NAMES.sub(r'<span class="word">\g<0></span>', escape(text))
            text.replace_with(BeautifulSoup(html, "html.parser"))


def join_groups(table):
    """A row whose only text is bold is the heading of the rows below it."""
    for row in table.tbody.find_all("tr"):
        first, *others = row.find_all("td")
        if others and first.strong and first.strong.get_text() == first.get_text(strip=True) \
                and not any(cell.get_text() for cell in others):
            row["class"] = "group"
            first["colspan"] = len(others) + 1
            for cell in others:
                cell.decompose()


def name_cells(table):
    """If a table has sentences, a phone shows its cells one below the other, behind the names of their columns."""
    names = [th.get_text() for th in table.find_all("th")]
    if not any(names):
        table.thead.decompose()
    if not any(len(cell.get_text()) > 40 for cell in table.find_all("td")):
        return
    table["class"].append("stacked")
    for row in table.tbody.find_all("tr"):
        for number, (name, cell) in enumerate(zip(names, row.find_all("td"))):
            if not cell.get_text():
                cell["class"] = "empty"
            elif number and name and len(names) > 2:
                cell["data-column"] = name


def break_names(table):
    """
    In links the name of a file may be broken after an underscore, and so may a long name elsewhere, such as that of a test.
    In headings the name of a class may be broken between its words.
    """
    for text in table.find_all(string=re.compile("_")):
        if text.find_parent("a") and " " not in text:
            text.replace_with(BeautifulSoup(escape(text).replace("_", "_<wbr>"), "html.parser"))
        elif LONG_NAME.search(text):
            html = LONG_NAME.sub(lambda name: name[0].replace("_", "_<wbr>"), escape(text))
            text.replace_with(BeautifulSoup(html, "html.parser"))
    for text in [text for th in table.find_all("th") for text in th.find_all(string=True)]:
        text.replace_with(BeautifulSoup(re.sub("([a-z])([A-Z])", r"\1<wbr>\2", escape(text)), "html.parser"))


def set_title(app, config):
    config.html_title = f"{config.project} {config.version}"


def setup(app):
    app.connect("config-inited", set_title)
    app.connect("doctree-read", index_names)
    app.connect("doctree-resolved", link_manuals)
    app.connect("html-page-context", adapt_html)
