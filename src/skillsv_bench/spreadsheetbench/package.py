"""The zip of XML parts that an .xlsx file is, read within limits, because a model's program may write anything.

Sizes are looked at before anything is unpacked (zipfile never unpacks more than a part declares), parts are streamed,
and what was read is dropped at once. Entities are expat's to refuse: since 2.4.1 it stops where they multiply.
"""

from __future__ import annotations

import lzma
import posixpath
import struct
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import BinaryIO
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, LargeZipFile, ZipFile

from openpyxl.xml.functions import fromstring, iterparse

MAX_PACKED_BYTES = 64 * 1024**2
"""The largest file that is read."""

MAX_UNPACKED_BYTES = 256 * 1024**2
"""The largest total size of a file's parts."""

MAX_PART_BYTES = 4 * 1024**2
"""The largest part that is read as a whole: the lists of parts and of sheets."""
MAX_XML_EVENTS = 10_000_000
"""How many beginnings and ends of XML elements are read of one file: ten seconds' worth."""

_BROKEN = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LargeZipFile,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zlib.error,
)
"""What readers of zip, XML and cells raise for a file that is damaged, encrypted or something else altogether."""


class WorkbookError(Exception):
    """The file is not a workbook that can be read within bounds; the message says why."""


@contextmanager
def convert_read_errors() -> Iterator[None]:
    """Convert every error that a broken file causes into WorkbookError."""
    try:
        yield
    except _BROKEN as error:
        raise WorkbookError(f"it cannot be read as a workbook ({type(error).__name__}: {error})") from error


class Package:
    """The parts of an open file."""

    def __init__(self, file: BinaryIO) -> None:
        size = file.seek(0, 2)
        if size > MAX_PACKED_BYTES:
            raise WorkbookError(f"it has {size:,} bytes; the limit is {MAX_PACKED_BYTES:,}")
        self._zip = ZipFile(file)
        self._sizes = {part.filename: part.file_size for part in self._zip.infolist()}
        unpacked = sum(part.file_size for part in self._zip.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise WorkbookError(f"it unpacks to {unpacked:,} bytes; the limit is {MAX_UNPACKED_BYTES:,}")
        self._steps = 0

    def __contains__(self, part: str) -> bool:
        return part in self._sizes

    def read_part(self, part: str) -> Element:
        """A small part, as a tree."""
        if self._sizes[part] > MAX_PART_BYTES:
            raise WorkbookError(f"its part {part} has {self._sizes[part]:,} bytes; the limit is {MAX_PART_BYTES:,}")
        tree: Element = fromstring(self._zip.read(part))
        return tree

    def read_relations(self, part: str) -> Mapping[str, tuple[str, str]]:
        """The parts that a part refers to: by id, what kind each is and where it lies."""
        folder, name = posixpath.split(part)
        return {
            relation.get("Id", ""): (
                relation.get("Type", ""),
                posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))[1:],
            )
            for relation in self.read_part(posixpath.join(folder, "_rels", f"{name}.rels"))
        }

    def iterate_elements(self, part: str, keep: AbstractSet[str]) -> Iterator[tuple[bool, Element]]:
        """Every element of a part as it begins (False) and as it ends (True).

        Attributes are there when it begins. What it contains is there when it ends only for tags in `keep`.
        """
        ancestors: list[Element] = []
        kept = 0
        with self._zip.open(part) as stream:
            for event, element in iterparse(stream, events=("start", "end")):
                self.count_steps(1)
                ends, holds = event == "end", element.tag in keep
                if not ends:
                    ancestors.append(element)
                    kept += holds
                yield ends, element
                if ends:
                    ancestors.pop()
                    kept -= holds
                    if ancestors and not kept:
                        ancestors[-1].clear()

    def count_steps(self, steps: int) -> None:
        """Count XML events and other work; raise WorkbookError above the limit."""
        self._steps += steps
        if self._steps > MAX_XML_EVENTS:
            raise WorkbookError("it has too many cells")
