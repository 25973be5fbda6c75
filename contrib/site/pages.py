#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pages.py TREE DIR [MANUAL...]: write the pages of the site to DIR, for Sphinx.

A page is a document of TREE, unchanged but for the targets of its links, or a manual page. A file of TREE that
documents link to, such as an example, becomes a page, too, and a directory a page that lists its files.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

# In the order of the navigation. README.md is the first page.
DOCUMENTS = {
    "The guide": [f"doc/guide/{page}.md" for page in (
        "index", "first-job", "without-an-administrator", "task-lists", "frameworks", "output", "status", "networks",
        "failures", "ending", "restarts", "hangs", "bad-nodes", "lost-nodes", "preemption", "longer-than-the-limit", "auxiliary-tasks", "containers",
        "portals", "other-programs", "troubleshooting", "limits")],
    "More for users": ["doc/options.md", "doc/cheat-sheet.md", "doc/recipes.md", "contrib/examples/README.md",
                       "doc/migrating.md", "doc/comparison.md"],
    "Administration": ["doc/administration.md"],
    "Manual pages": [],
    "How it works": [f"doc/design/{page}.md" for page in (
        "overview", "launch", "frameworks", "output", "supervision", "failures", "hangs", "ending", "packaging-and-check",
        "performance", "slurm", "decisions/auxiliary-tf-config", "decisions/named-socket", "decisions/requeue",
        "decisions/reuse-port", "decisions/short-variable", "decisions/successor")] +
                    [f"doc/protocol/{page}.md" for page in ("index", "launch", "answer", "supervision", "status")] + ["SECURITY.md"],
    "Development": ["HACKING.md", "tests/README.md", "contrib/README.md", "CONTRIBUTING.md", "doc/releasing.md",
                    "NEWS.md"],
}

# [text](target) or [text](target#anchor); not in code, which is matched first and stays.
LINK = re.compile(r"(?P<code>(`+)(?!`).*?(?<!`)\2(?!`))|\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)", re.DOTALL)
LANGUAGES = {".py": "python", ".json": "json", ".sbatch": "bash", ".bash": "bash", ".c": "c"}


def page_of(path):
    """The page of a file or a directory of the tree, relative to DIR."""
    if path.name == "README.md":
        return path.with_name("index.md")
    return path if path.suffix == ".md" else Path(f"{path}.md")


def plain_lines(text):
    """Lines that mandoc has indented, each behind a <br/>."""
    return textwrap.dedent(text.replace("<br/>\n", "")).strip("\n")


class OptionAnchors:
    """The anchor of an option of srun is its name, and not "tf~12", where it is explained first."""

    TERM = re.compile(r'<dt id="[^"]*"><a class="permalink" href="[^"]*">(<b[^>]*>)--(tf-[a-z0-9-]+)')

    def __init__(self):
        self.known = set()

    def __call__(self, term):
        if term[2] in self.known:
            return term[0]
        self.known.add(term[2])
        return f'<dt id="{term[2]}"><a class="permalink" href="#{term[2]}">{term[1]}--{term[2]}'


class Pages:
    def __init__(self, tree, directory):
        self.tree, self.directory = tree, directory
        self.linked = []        # files and directories that are to become pages
        self.broken = []
        self.documents = [Path("README.md")] + [Path(path) for paths in DOCUMENTS.values() for path in paths]

    def check_complete(self, manuals):
        known = {str(path) for path in self.documents} | {f"{manual}.in" for manual in manuals}
        for pattern in ("*.md", "doc/*.md", "doc/*/*.md", "doc/*/*/*.md", "tests/*.md", "contrib/*.md", "contrib/*/*.md",
                        "*/*.[1578].in", "util/*/*.[1578].in"):
            for path in sorted(self.tree.glob(pattern)):
                if (name := str(path.relative_to(self.tree))) not in known:
                    self.broken.append(f"{name}: is not in the navigation")

    def write(self, page, text):
        file = self.directory / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def document(self, path):
        text = (self.tree / path).read_text()

        def link(match):
            target = match["target"]
            if not target or re.match("[a-z]+:", target):
                return match[0]
            file = Path(os.path.normpath(path.parent / target))
            if not (self.tree / file).exists():
                line = text.count("\n", 0, match.start()) + 1
                self.broken.append(f"{path}:{line}: no file {target}")
                return match[0]
            return f"]({self.target(path, file)}{match['anchor'] or ''})"

        self.write(page_of(path), LINK.sub(link, text))

    def target(self, path, file):
        """What a page of path links to, instead of file."""
        start = page_of(path).parent
        if file.suffix in (".svg", ".png"):
            shown = file
            (self.directory / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.tree / file, self.directory / file)
        else:
            shown = page_of(file)
            if file not in self.documents and file not in self.linked:
                self.linked.append(file)
        return os.path.relpath(shown, start)

    def files(self):
        """The pages of the files and directories that have been linked to, and of those in such a directory."""
        for file in self.linked:
            page = f"---\norphan: true\n---\n\n# `{file}`\n\n"
            if (self.tree / file).is_dir():
                inside = sorted(path.relative_to(self.tree) for path in (self.tree / file).iterdir() if path.is_file())
                page += "".join(f"- [`{path.name}`]({self.target(file, path)})\n" for path in inside)
            else:
                page += self.code(file)
            self.write(page_of(file), page)

    def code(self, file):
        text = (self.tree / file).read_text()
        language = LANGUAGES.get(file.suffix, "text")
        if language == "text" and text.startswith("#!"):
            language = "python" if "python" in text.split("\n")[0] else "bash"
        fence = "`" * max([3] + [len(run) + 1 for run in re.findall("`+", text)])
        return f"{fence}{language}\n{text}{fence}\n"

    def manual(self, file, names):
        """mandoc's HTML, in which the headings become those of Markdown, so that the page has a table of contents."""
        html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        html = re.sub(r'<table class="(head|foot)">.*?</table>|</?section[^>]*>|<div class="manual-text">|</div>\s*$',
                      "", html, flags=re.DOTALL)
        # The theme has a style of its own for lists with a class.
        html = html.replace('<dl class="Bl-tag">', "<dl>")
        html = re.sub(rf"<b>({'|'.join(re.escape(name) for name in names)})</b>\((\d)\)",
                      r'<a class="manual" href="\1.\2.html"><b>\1</b>(\2)</a>', html)
        html = re.sub("<pre>(.*?)</pre>", lambda pre: f"<pre>{plain_lines(pre[1])}</pre>", html, flags=re.DOTALL)
        html = re.sub(r"<b>([^<\s]{1,26})</b>", r'<b class="word">\1</b>', html)
        html = OptionAnchors.TERM.sub(OptionAnchors(), html)
        parts = re.split(r'<h([12])[^>]*><a[^>]*>(.*?)</a></h\1>', html, flags=re.DOTALL)
        # A heading has its title as anchor, in small letters, and a term of the same name has another one.
        for title in parts[2::3]:
            slug = "-".join(re.sub("<[^>]*>", "", title).lower().split())
            parts[3::3] = [body.replace(f'<dt id="{slug}"><a class="permalink" href="#{slug}"',
                                        f'<dt id="term-{slug}"><a class="permalink" href="#term-{slug}"')
                           for body in parts[3::3]]
        page = f"# {file.stem}({file.suffix[1:]})\n"
        for level, title, body in zip(parts[1::3], parts[2::3], parts[3::3]):
            title = " ".join(re.sub("<[^>]*>", "", title).split())
            page += f"\n{'#' * (int(level) + 1)} {title}\n\n"
            page += f'```{{raw}} html\n<div class="manual">\n{body.strip()}\n</div>\n```\n'
        self.write(f"man/{file.name}.md", page)

    def navigation(self, manuals):
        text = ""
        for caption, paths in DOCUMENTS.items():
            pages = [str(page_of(Path(path))) for path in paths] or [f"man/{manual.name}.md" for manual in manuals]
            entries = "\n".join(page.removesuffix(".md") for page in pages)
            text += f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{entries}\n```\n"
        with open(self.directory / "index.md", "a") as file:
            file.write(text)


def main():
    tree, directory, *manuals = (Path(argument) for argument in sys.argv[1:])
    pages = Pages(tree, directory)
    pages.check_complete(manuals)
    for path in pages.documents:
        pages.document(path)
    pages.files()
    for file in manuals:
        pages.manual(file, [manual.stem for manual in manuals])
    pages.navigation(manuals)
    if pages.broken:
        sys.exit("\n".join(pages.broken))


main()
