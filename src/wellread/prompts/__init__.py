"""Prompts: one Markdown file each, rendered by `wellread.prompts.render`."""
