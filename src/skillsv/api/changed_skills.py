"""The skills that differ from a base commit: both versions compiled, and the lines that changed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skillsv.api.line_edits import MOST_COMPARED, line_edits
from skillsv.api.lint import find_skills, holds_skill
from skillsv.api.skill import Skill, compile  # noqa: A004 - the public name
from skillsv.errors import SettingsError, SkillError
from skillsv.model.check_document import EditDocument
from skillsv.sandbox.folders import walk_files
from skillsv.sandbox.git_files import EXECUTABLE, GitFile, GitRepository, blob_id, lfs_digest

HIDDEN_SKILLS = ".*/skills"
"""Where coding agents look for skills below a folder: `.claude/skills`, `.agents/skills`."""

_MAIN = "skill.md"
"""The main file of a skill folder, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillChange:
    """A skill that differs from the base. `new` is None where it was deleted, `base` where it is new.

    `path` is relative to the repository, `folder` is where the new version lies.
    """

    path: str
    folder: Path
    new: Skill | None
    base: Skill | None
    edits: tuple[EditDocument, ...] = ()

    @property
    def status(self) -> str:
        """`new`, `changed` or `deleted`."""
        if self.base is None:
            return "new"
        return "deleted" if self.new is None else "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseCommit:
    """The commit that is compared with. `name` is what the user wrote; `branched`: HEAD branched off there.

    `commit` is empty in a repository without any commit: every skill is new.
    """

    repository: GitRepository
    name: str
    commit: str
    branched: bool

    @classmethod
    def find(cls, folder: Path, name: str) -> BaseCommit:
        """The commit where HEAD branched off the named one; the named one itself where the history is too short."""
        repository = GitRepository.containing(folder)
        if name == "HEAD" and repository.is_empty:
            return cls(repository=repository, name=name, commit="", branched=True)
        commit = repository.commit(name)
        merge_base = repository.merge_base(commit)
        return cls(repository=repository, name=name, commit=merge_base or commit, branched=merge_base is not None)


@contextmanager
def changed_skills(base: BaseCommit, paths: Sequence[Path], **compiler: object) -> Iterator[list[SkillChange]]:
    """The changed skills at or below the paths (all below the working folder where there are none), by path.

    The files of the base version lie in a temporary folder while the block runs.
    """
    root = base.repository.root.resolve()
    files = base.repository.list_files(base.commit) if base.commit else ()
    present = _present_skills(paths, root)
    places = {**_deleted_skills(files, paths, root, present), **present}
    if not places and paths:
        raise SkillError(
            "there is no skill here.", where=str(paths[0]), hint="Give skill folders, or folders of skills."
        )
    with tempfile.TemporaryDirectory(prefix="skillsv-check-") as temporary:
        found = []
        for number, (path, place) in enumerate(sorted(places.items())):
            own = _files_of(files, path, single=place.suffix != "" and place.is_file())
            if not _same_files(own, path, place, root):
                folder = Path(temporary) / str(number)
                base_files = _BaseFiles(repository=base.repository, path=path, files=own)
                found.append(_compare(base_files, place, folder, compiler))
        yield [change for change in found if not _same_rendering(change)]


def differs_from_base(base: BaseCommit, place: Path) -> bool:
    """Whether a file or folder of the repository differs from the base. What lies elsewhere does not."""
    root, absolute = base.repository.root.resolve(), place.absolute().resolve()
    if not absolute.is_relative_to(root) or not base.commit:
        return False
    path = absolute.relative_to(root).as_posix()
    files = _files_of(base.repository.list_files(base.commit), path, single=absolute.is_file())
    return not _same_files(files, path, absolute, root)


def _present_skills(paths: Sequence[Path], root: Path) -> dict[str, Path]:
    """The skills of the working tree, by their paths below the repository."""
    roots = list(paths) or [Path(), *sorted(Path().glob(HIDDEN_SKILLS))]
    skills = [skill for place in roots for skill in find_skills(place) if skill.is_file() or holds_skill(skill)]
    return {_relative(skill, root): skill for skill in skills}


def _relative(path: Path, root: Path) -> str:
    """A path below the repository, with slashes."""
    absolute = path.absolute().resolve()
    if not absolute.is_relative_to(root):
        raise SettingsError("this is outside the repository.", where=str(path), hint=f"The repository is {root}.")
    return absolute.relative_to(root).as_posix()


def _deleted_skills(
    files: Iterable[GitFile], paths: Sequence[Path], root: Path, present: Mapping[str, Path]
) -> dict[str, Path]:
    """The skills of the base at or below the paths whose main file is not in the working tree any more."""
    wanted = [_relative(path, root) for path in paths or [Path()]]
    found = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if name.lower() != _MAIN or (root / file.path).is_file() or (folder or ".") in present:
            continue
        inside = any(start == "." or f"{folder}/".startswith(f"{start}/") for start in wanted)
        nested = any(folder.startswith(f"{skill}/") for skill in present)
        if inside and not nested:
            found[folder or "."] = root / folder
    return found


def _files_of(files: Iterable[GitFile], path: str, *, single: bool) -> tuple[GitFile, ...]:
    """The files of one skill in the base."""
    if single:
        return tuple(file for file in files if file.path == path)
    return tuple(file for file in files if path == "." or file.path.startswith(f"{path}/"))


def _same_files(files: Sequence[GitFile], path: str, place: Path, root: Path) -> bool:
    """Whether the working tree holds exactly these files: then nothing needs to be compiled."""
    present = [place] if place.is_file() else [file for file in walk_files(place) if ".git" not in file.parts]
    if path == "." or len(present) != len(files) or any(file.is_symlink() for file in present):
        return False
    return all(_is_unchanged(root / file.path, file) for file in files)


def _is_unchanged(path: Path, file: GitFile) -> bool:
    """Whether the working tree has the same bytes and the same right to run."""
    if not path.is_file() or bool(path.stat().st_mode & 0o100) != (file.mode == EXECUTABLE):
        return False
    return blob_id(path.read_bytes(), file.blob) == file.blob


def _compare(base: _BaseFiles, place: Path, folder: Path, compiler: Mapping[str, object]) -> SkillChange:
    """Compile both versions and compare their lines. Both folders have the same name: it is the name of the skill."""
    single = place.is_file()
    new = compile(place, **compiler) if single or holds_skill(place) else None
    start = folder if single else folder / (place.resolve().name or "skill")
    old = None
    if base.files:
        base.repository.write_files(base.files, base.prefix(single=single), start)
        _restore_large_files(start, place.parent if single else place)
        main = start / place.name if single else start
        old = _compile_base(main, place, compiler) if single or holds_skill(start) else None
    edits = () if new is None or old is None else tuple(line_edits(_texts(old), _texts(new)))
    return SkillChange(path=base.path, folder=place, new=new, base=old, edits=edits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BaseFiles:
    """The files of a skill in the base; none where it is new."""

    repository: GitRepository
    path: str
    files: tuple[GitFile, ...]

    def prefix(self, *, single: bool) -> str:
        """What the paths of the files begin with, before the path inside the skill."""
        folder = self.path.rpartition("/")[0] if single else self.path
        return f"{folder}/" if folder not in {"", "."} else ""


def _compile_base(main: Path, place: Path, settings: Mapping[str, object]) -> Skill:
    """The base version, with the compiler's settings that lie beside the new one."""
    from skillsv.compiler import compile_skill
    from skillsv.settings import compile_options, load_settings

    options = compile_options(load_settings(place, settings, guarded=False))
    return Skill(compile_skill(main, options), main, settings)


def _restore_large_files(folder: Path, place: Path) -> None:
    """Put the files that Git LFS keeps elsewhere in the place of their pointers, where they are the present ones."""
    for file in walk_files(folder):
        digest = lfs_digest(file.read_bytes())
        if digest is None:
            continue
        present = place / file.relative_to(folder)
        if not present.is_file() or present.is_symlink():
            continue
        data = present.read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            file.write_bytes(data)


def _same_rendering(change: SkillChange) -> bool:
    """Whether agents receive the same files from both versions."""
    if change.new is None or change.base is None:
        return False
    return _files(change.new) == _files(change.base)


def _files(skill: Skill) -> set[tuple[str, bool, str]]:
    return {(file.path, file.executable, file.digest) for file in skill.compiled.skill.files}


def _texts(skill: Skill) -> dict[str, bytes | None]:
    """The files by path; None where one is too large to compare its lines."""
    files = skill.compiled.skill.files
    return {file.path: file.data if file.size <= MOST_COMPARED else None for file in files}
