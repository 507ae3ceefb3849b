"""Renders the files beside the main file: unchanged, deleted, or replaced by comments in their language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from skillsv.model.coalition import Operator, RenderedFile
from skillsv.model.skill import CompiledSkill, FileRole, SkillFile
from skillsv.rendering.comments import comment_style
from skillsv.rendering.document import file_digest
from skillsv.rendering.padding import Padder


class Resources:
    """Renders auxiliary files that are one unit or none: unchanged, absent, or padded, which has one form."""

    def __init__(self, compiled: CompiledSkill, bits: Mapping[str, int], padder: Padder) -> None:
        self._padder = padder
        self._files = [
            file
            for file in compiled.skill.files
            if file.role is not FileRole.MAIN and file.path not in compiled.pointers
        ]
        self._owner = _find_owners(compiled)
        self._bit = {path: bits[unit] for path, unit in self._owner.items()}
        self._originals = {file.path: render_unchanged(file) for file in self._files}
        self._padded: dict[str, RenderedFile | None] = {}

    def render(self, kept: int, operator: Operator) -> tuple[list[RenderedFile], list[str]]:
        """The files of a coalition, and a flag for each file that padding had to delete.

        Files that belong to no unit are in every rendering.
        """
        files: list[RenderedFile] = []
        flags: list[str] = []
        for file in self._files:
            bit = self._bit.get(file.path)
            if bit is None or bit & kept:
                files.append(self._originals[file.path])
            elif operator is Operator.PAD:
                padded = self._pad_once(file)
                if padded is None:
                    flags.append(f"deleted-instead:{self._owner[file.path]}")
                else:
                    files.append(padded)
        return files, flags

    def any_unit(self, files: list[RenderedFile]) -> bool:
        """Whether any of these files belongs to a unit; files without a unit alone are no skill."""
        return any(self.is_of_unit(file.path) for file in files)

    def is_of_unit(self, path: str) -> bool:
        """Whether the file at this path belongs to a unit."""
        return path in self._owner

    def texts_of_units(self) -> list[tuple[int, bytes]]:
        """The text files that belong to a unit, each with the bit of the unit."""
        return [
            (self._bit[file.path], file.data) for file in self._files if file.path in self._bit and is_text(file.data)
        ]

    def _pad_once(self, file: SkillFile) -> RenderedFile | None:
        if file.path not in self._padded:
            self._padded[file.path] = self._pad(file)
        return self._padded[file.path]

    def _pad(self, file: SkillFile) -> RenderedFile | None:
        if not is_text(file.data):
            return None
        data = self._padder.pad_file(file.data, comment_style(file.path, file.data))
        if data is None:
            return None
        return RenderedFile(path=file.path, data=data, digest=file_digest(data), executable=file.executable)


def is_text(data: bytes | None) -> TypeGuard[bytes]:
    """Whether an agent would read the file as text: it is in memory, has no NUL byte and is valid UTF-8."""
    if data is None or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def render_unchanged(file: SkillFile) -> RenderedFile:
    """The file as it is in the skill."""
    digest = file.digest if file.data is None else file_digest(file.data)
    return RenderedFile(path=file.path, data=file.data, digest=digest, executable=file.executable, origin=file.origin)


def _find_owners(compiled: CompiledSkill) -> dict[str, str]:
    """A unit that each auxiliary file belongs to: the only one, if the file is not cut."""
    main = compiled.skill.main
    return {extent.file: unit.id for unit in compiled.units for extent in unit.extents if extent.file != main}
