"""How filler is dressed so that a padded file stays harmless: comments in the language of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A file of filler lines: `open`, then lines of `before` + words + `after` joined by `join`, then `close`."""

    open: str = ""
    before: str = ""
    after: str = ""
    join: str = "\n"
    close: str = "\n"


PLAIN = Shape()
HASH = Shape(before="#")
SLASHES = Shape(before="//")
DASHES = Shape(before="--")
PERCENT = Shape(before="%")
SEMICOLON = Shape(before=";")
BLOCK = Shape(open="/*", close="*/\n")
MARKUP = Shape(open="<!--", close="-->\n")
ELEMENT = Shape(open="<blank>", close="</blank>\n")  # XML wants one root element
STRINGS = Shape(open="[", before='"', after='"', join=",\n", close="]\n")  # JSON has no comments
STRING_LINES = Shape(before='"', after='"')  # one JSON value a line

_BY_SUFFIX = {
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

SHAPES = {suffix: shape for shape, suffixes in _BY_SUFFIX.items() for suffix in suffixes.split()}
"""The shape for each file name ending; everything else is plain text."""

_BY_NAME = {"dockerfile": HASH, "makefile": HASH, "gemfile": HASH, "rakefile": HASH, "cmakelists.txt": HASH}
_INTERPRETERS = (b"python", b"sh", b"bash", b"zsh", b"ruby", b"perl", b"Rscript")


def shape_of(path: str, data: bytes) -> Shape:
    """The shape for a file, by its name or, without an ending, by its first line."""
    name = PurePosixPath(path).name.lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "." in name:
        return SHAPES.get(name.rpartition(".")[2], PLAIN)
    if data.startswith(b"#!"):
        first = data.split(b"\n", 1)[0]
        return HASH if any(word in first for word in _INTERPRETERS) else SLASHES if b"node" in first else PLAIN
    return PLAIN


MARKER = rb" {0,3}(?:[-*+]|\d{1,9}[.)])"
"""The marker of a list item: a padded item stays an item, else its filler would run into the item before it."""

_MARKER = re.compile(MARKER + rb"(?=[ \t\r\n]|\Z)")
_LINE_END = re.compile(rb"(?:\r\n|\n|\r)\Z")


def markdown_shape(data: bytes) -> Shape:
    """The shape of filler for a piece of the main file: its list marker if it has one, its own line end."""
    marker, end = _MARKER.match(data), _LINE_END.search(data)
    ending = end.group().decode() if end else ""
    return Shape(open=marker.group().decode() if marker else "", join=ending or "\n", close=ending)
