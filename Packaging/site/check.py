"""Checks a built site. All links must lead to existing pages and headings, and no page may load
files from another server. Prints the problems. The exit status is 1 if there are any."""

import html.parser
import os
import sys
import urllib.parse

root = sys.argv[1]
problems = []


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.names, self.path = [], set(), path
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)
                if tag not in ("a", "form") and urllib.parse.urlsplit(value).netloc:
                    problems.append(f"{self.path}: loads {value}")


pages = {}
for folder, _, names in os.walk(root):
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".html"):
            pages[os.path.normpath(path)] = Page(path)
        elif name.endswith(".css"):
            with open(path, encoding="utf-8") as file:
                text = file.read().replace(" ", "")
            if "url(http" in text or "url(//" in text or "@importurl(http" in text:
                problems.append(f"{path}: loads a file from another server")

for path, page in pages.items():
    if os.path.basename(path) == "404.html":  # has absolute links
        continue
    for link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = path
        if parts.path:
            target = os.path.normpath(
                os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
        if not os.path.exists(target):
            problems.append(f"{path}: {link}: no such file")
        elif parts.fragment and target in pages:
            if urllib.parse.unquote(parts.fragment) not in pages[target].names:
                problems.append(f"{path}: {link}: no such heading")

print("\n".join(problems) if problems else f"{len(pages)} pages, no problems found")
sys.exit(bool(problems))
