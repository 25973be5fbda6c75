#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""browse.py [--pictures=DIR] SITE: open every page of a site in a headless Chromium, on the screen of a desktop and of
a phone, in light and in dark colours. Prints a line for each thing that is wrong, and exits with 1 if there is any:

    a link or an anchor that leads nowhere, a picture that is not shown, an id that occurs twice, something that comes
    from another host, an error of a script, a page that is wider than the screen, text that runs out of its box (a box
    may have a scrollbar, but on a desktop no table does), text that hardly differs from its background

The cheat sheet has to be one page of A4 when it is printed, and the search has to lead first to the manual page's
paragraph about an option, an argument of plugstack.conf or a variable whose name was typed.

--pictures writes each page as DIR/PAGE-WIDTH-SCHEME.png.
"""

import argparse
import os
import sys
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

sys.path.insert(0, os.path.dirname(__file__))
sys.dont_write_bytecode = True
from chromium import Chromium  # noqa: E402

SCREENS = {1280: 900, 390: 844}
SCHEMES = ("light", "dark")
SEARCHES = {
    "--tf-restart": "spank-tf.7.html#tf-restart",
    "tf-tasks": "spank-tf.7.html#tf-tasks",
    "lost_after=": "spank-tf-plugstack.5.html#lost_after=",
    "TF_CONFIG": "spank-tf-environment.7.html#TF_CONFIG",
}

CONTENTS = """({
    ids: [...document.querySelectorAll("[id]")].map(e => e.id),
    links: [...document.querySelectorAll("a[href]")].map(e => e.getAttribute("href")),
    loaded: performance.getEntriesByType("resource").map(e => e.name),
})"""


FOUND = """({
    done: /found|did not match/.test(document.querySelector("#search-results")?.innerText),
    first: document.querySelector("#search-results li a")?.getAttribute("href"),
})"""


class Browser:
    def __init__(self, chromium, site, pictures):
        self.chromium, self.site, self.pictures = chromium, site.resolve(), pictures
        self.look = Path(__file__).with_name("look.js").read_text()
        self.picture = Path(__file__).with_name("picture.js").read_text()
        self.ids, self.links = {}, {}
        self.problems = {}          # page and text: on which screens

    def problem(self, page, text, where=""):
        self.problems.setdefault((page, text), []).append(where)

    def visit(self, page):
        url = (self.site / page).as_uri()
        for width, height in SCREENS.items():
            self.chromium.screen(width, height, SCHEMES[0])
            for error in self.chromium.open(url):
                self.problem(page, error.split("\n")[0], str(width))
            for scheme in SCHEMES:
                self.chromium.screen(width, height, scheme)
                script = self.picture if page.endswith(".svg") else self.look
                for text in self.chromium.run(script):
                    self.problem(page, text, f"{width} {scheme}")
                if self.pictures:
                    self.chromium.picture(self.pictures / f"{page.replace('/', '_')}-{width}-{scheme}.png")
        if page.endswith(".html"):
            self.contents(page, self.chromium.run(CONTENTS))
        if page.endswith("cheat-sheet.html") and (sheets := self.chromium.sheets()) != 1:
            self.problem(page, f"is {sheets} pages when it is printed")

    def contents(self, page, contents):
        ids = contents["ids"]
        self.ids[page] = set(ids)
        self.links[page] = contents["links"]
        for twice in sorted({name for name in ids if ids.count(name) > 1}):
            self.problem(page, f'the id "{twice}" occurs twice')
        for loaded in contents["loaded"]:
            if urlsplit(loaded).scheme not in ("file", "data"):
                self.problem(page, f"is loaded from another host: {loaded}")

    def search(self):
        self.chromium.screen(1280, 900, SCHEMES[0])
        for text, place in SEARCHES.items():
            self.chromium.open(f"{(self.site / 'search.html').as_uri()}?q={quote(text)}")
            while not (found := self.chromium.run(FOUND))["done"]:
                pass
            if found["first"] != f"man/{place}":
                self.problem("search.html", f'"{text}" leads to {found["first"]}')

    def follow(self):
        for page, links in self.links.items():
            for link in sorted(set(links)):
                if not self.leads_somewhere(page, link):
                    self.problem(page, f"broken link: {link}")

    def leads_somewhere(self, page, link):
        target, anchor = urldefrag(urljoin((self.site / page).as_uri(), link))
        if urlsplit(target).scheme != "file":
            return True
        file = Path(unquote(urlsplit(target).path))
        if not file.is_file() or self.site not in file.parents:
            return False
        name = str(file.relative_to(self.site))
        return not anchor or unquote(anchor) in self.ids.get(name, ())


def main():
    parser = argparse.ArgumentParser(usage="browse.py [--pictures=DIR] SITE")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("site", type=Path)
    arguments = parser.parse_args()
    pages = sorted(str(file.relative_to(arguments.site)) for kind in ("html", "svg")
                   for file in arguments.site.rglob(f"*.{kind}") if "_static" not in file.parts)
    if "index.html" not in pages:
        sys.exit(f"{arguments.site} has no index.html")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with Chromium() as chromium:
        browser = Browser(chromium, arguments.site, arguments.pictures)
        for page in pages:
            browser.visit(page)
        browser.follow()
        if "search.html" in pages:
            browser.search()
    for (page, text), where in sorted(browser.problems.items()):
        on = sorted({place for place in where if place})
        print(f"{page}: {text}{' (' + ', '.join(on) + ')' if on else ''}")
    print(f"{len(pages)} pages, {len(browser.problems)} problems")
    return 1 if browser.problems else 0


sys.exit(main())
