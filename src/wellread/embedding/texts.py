"""Texts as tokenizers and servers can take them."""

from __future__ import annotations


def clean(text: str, most: int) -> str:
    """At most `most` characters, all of them valid: lone surrogates, which come out of broken pages, become question marks."""
    return text[:most].encode("utf-8", "replace").decode()
