"""Comment styles: how filler is written in a file, so that a padded file of any language can be loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentStyle:
    """The syntax around filler: `open`, then lines of `before` + filler + `after` joined by `join`, then `close`."""

    open: str = ""
    before: str = ""
    after: str = ""
    join: str = "\n"
    close: str = "\n"


PLAIN = CommentStyle()
"""Plain text, and all languages that are not in the table."""

HASH = CommentStyle(before="#")
"""Python, shell, YAML and others."""

SLASHES = CommentStyle(before="//")
"""JavaScript, C and others."""

DASHES = CommentStyle(before="--")
"""SQL, Lua, Haskell and others."""

PERCENT = CommentStyle(before="%")
"""TeX, Erlang and others."""

SEMICOLON = CommentStyle(before=";")
"""INI, Lisp and others."""

BLOCK = CommentStyle(open="/*", close="*/\n")
"""CSS."""

MARKUP = CommentStyle(open="<!--", close="-->\n")
"""HTML and its dialects."""

ELEMENT = CommentStyle(open="<blank>", close="</blank>\n")
"""XML, which needs one root element."""

STRINGS = CommentStyle(open="[", before='"', after='"', join=",\n", close="]\n")
"""JSON, which has no comments: a list of strings."""

STRING_LINES = CommentStyle(before='"', after='"')
"""JSON Lines: one string a line."""

_SUFFIXES = {
    HASH: "py pyi pyx sh bash zsh fish rb pl pm r jl yaml yml toml cfg conf env ex exs tcl mk cmake ps1 psm1 nix tf "
    "hcl properties gitignore dockerignore ipy graphql",
    SLASHES: "js mjs cjs jsx ts mts cts tsx java c h cc cpp cxx hpp hh cs go rs swift kt kts scala dart php groovy "
    "proto zig jsonc json5 scss less sol v sv",
    DASHES: "sql lua hs elm adb ads vhdl",
    PERCENT: "tex sty cls bib erl m",
    SEMICOLON: "ini lisp el clj cljs scm rkt asm s",
    BLOCK: "css",
    MARKUP: "html htm vue svelte",
    ELEMENT: "xml xsd xsl xslt svg rss atom plist wsdl",
    STRINGS: "json ipynb geojson webmanifest",
    STRING_LINES: "jsonl ndjson",
}

STYLES = {suffix: style for style, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
"""The comment style for each suffix of a file name; all other files are plain text."""

_FILE_NAMES = {"dockerfile": HASH, "makefile": HASH, "gemfile": HASH, "rakefile": HASH, "cmakelists.txt": HASH}
"""The comment style for file names whose suffix says nothing."""

_INTERPRETERS = (b"python", b"sh", b"bash", b"zsh", b"ruby", b"perl", b"Rscript")
"""Interpreters after `#!` whose comments begin with `#`."""

LIST_MARKER = rb" {0,3}(?:[-*+]|\d{1,9}[.)])"
"""The marker of a list item. A padded item keeps it: else its filler would join the item before it."""

_LEADING_MARKER = re.compile(LIST_MARKER + rb"(?=[ \t\r\n]|\Z)")
_LINE_END = re.compile(rb"(?:\r\n|\n|\r)\Z")


def comment_style(path: str, data: bytes) -> CommentStyle:
    """The comment style of a file, by its name or, if the name has no suffix, by its first line."""
    name = PurePosixPath(path).name.lower()
    if name in _FILE_NAMES:
        return _FILE_NAMES[name]
    if "." in name:
        return STYLES.get(name.rpartition(".")[2], PLAIN)
    if data.startswith(b"#!"):
        first = data.split(b"\n", 1)[0]
        return HASH if any(word in first for word in _INTERPRETERS) else SLASHES if b"node" in first else PLAIN
    return PLAIN


def markdown_style(data: bytes) -> CommentStyle:
    """The style of filler for a piece of the main file: with its list marker, if it has one, and its line end."""
    marker, end = _LEADING_MARKER.match(data), _LINE_END.search(data)
    ending = end.group().decode() if end else ""
    return CommentStyle(open=marker.group().decode() if marker else "", join=ending or "\n", close=ending)
