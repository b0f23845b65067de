"""Hooks for mkdocs that adapt pages written for a repository."""

import os
import re


def slugify(heading, separator):
    """Returns the anchor of a heading, as GitHub names it."""
    return "".join(
        separator if character == " " else character
        for character in heading.lower()
        if character in " -_" or character.isalpha() or character.isnumeric()
    )


def on_config(config):
    config["mdx_configs"]["toc"] = {**config["mdx_configs"].get("toc", {}), "slugify": slugify}
    return config


def on_page_markdown(markdown, page, config, files):
    """Links folders to their README files, and replaces links to other files with their text."""
    folder = os.path.dirname(page.file.src_uri)

    def adapt(match):
        text, target = match.groups()
        path = target.partition("#")[0]
        if not path or ":" in path:
            return match.group(0)
        source = os.path.normpath(os.path.join(folder, path))
        if files.get_file_from_path(source):
            return match.group(0)
        if files.get_file_from_path(f"{source}/README.md"):
            return f"[{text}]({path.rstrip('/')}/README.md)"
        return text

    # The text of a link may contain code with brackets, and a line break.
    return re.sub(r"(?<!!)\[((?:`[^`]*`|[^\[\]`])+)\]\(([^)\s]+)\)", adapt, markdown)
