"""What mkdocs does with pages that are written for a repository."""

import os
import re


def slugify(heading, separator):
    """The name that GitHub gives to a heading, and that our links use."""
    return "".join(
        separator if character == " " else character
        for character in heading.lower()
        if character in " -_" or character.isalpha() or character.isnumeric()
    )


def on_config(config):
    config["mdx_configs"]["toc"] = {**config["mdx_configs"].get("toc", {}), "slugify": slugify}
    return config


def on_page_markdown(markdown, page, config, files):
    """A link to a folder leads to its README; one to what is no page of the site is text."""
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

    # The text of a link may have code with brackets, and go on in the next line.
    return re.sub(r"(?<!!)\[((?:`[^`]*`|[^\[\]`])+)\]\(([^)\s]+)\)", adapt, markdown)
