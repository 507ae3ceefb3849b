"""The files beside the main one: kept as they are, gone, or padded with comments of their language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from skillsv.model.coalition import Operator, RenderedFile
from skillsv.model.skill import CompiledSkill, FileRole, SkillFile
from skillsv.render.comments import shape_of
from skillsv.render.document import file_digest
from skillsv.render.padding import Padder


class Resources:
    """Renders auxiliary files. A file either stays byte for byte or is absent, so each has two forms at most."""

    def __init__(self, compiled: CompiledSkill, bits: Mapping[str, int], padder: Padder) -> None:
        self._padder = padder
        self._files = [file for file in compiled.skill.files if file.role is not FileRole.MAIN]
        self._owner = _owners(compiled)
        self._bit = {path: bits[unit] for path, unit in self._owner.items()}
        self._originals = {file.path: unchanged(file) for file in self._files}
        self._fillers: dict[str, RenderedFile | None] = {}

    def rendered(self, kept: int, operator: Operator) -> tuple[list[RenderedFile], list[str]]:
        """The files of this coalition with flags for what had to be deleted instead of padded.

        Files that belong to no unit are carried along with everything.
        """
        files: list[RenderedFile] = []
        flags: list[str] = []
        for file in self._files:
            bit = self._bit.get(file.path)
            if bit is None or bit & kept:
                files.append(self._originals[file.path])
            elif operator is Operator.PAD:
                stand_in = self._stand_in(file)
                if stand_in is None:
                    flags.append(f"deleted-instead:{self._owner[file.path]}")
                else:
                    files.append(stand_in)
        return files, flags

    def any_unit(self, files: list[RenderedFile]) -> bool:
        """Whether any of these files belongs to a unit; the others alone are no skill."""
        return any(file.path in self._owner for file in files)

    def _stand_in(self, file: SkillFile) -> RenderedFile | None:
        if file.path not in self._fillers:
            self._fillers[file.path] = self._padded(file)
        return self._fillers[file.path]

    def _padded(self, file: SkillFile) -> RenderedFile | None:
        if not is_text(file.data):
            return None
        data = self._padder.file(file.data, shape_of(file.path, file.data))
        if data is None:
            return None
        return RenderedFile(path=file.path, data=data, digest=file_digest(data), executable=file.executable)


def is_text(data: bytes | None) -> TypeGuard[bytes]:
    """Whether an agent would read the file as text: in memory, no NUL byte, valid UTF-8."""
    if data is None or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def unchanged(file: SkillFile) -> RenderedFile:
    """The file as it lies in the skill."""
    digest = file.digest if file.data is None else file_digest(file.data)
    return RenderedFile(path=file.path, data=file.data, digest=digest, executable=file.executable, origin=file.origin)


def _owners(compiled: CompiledSkill) -> dict[str, str]:
    """The unit each auxiliary file belongs to."""
    main = compiled.skill.main
    return {extent.file: unit.id for unit in compiled.units for extent in unit.extents if extent.file != main}
