"""A skill as an object: compiled from a folder, a Markdown file or a text; rendered, ordered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path

from skillsv.compiler import compile_files, compile_skill, read_text
from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator, Order, Rendering
from skillsv.model.compiled_document import CompiledDocument
from skillsv.model.format import plural
from skillsv.model.skill import CompiledSkill, Edge, Unit, find_unit
from skillsv.settings import DEFAULTS, SETTINGS, compile_options, load_settings


@dataclass(frozen=True, eq=False)
class Skill:
    r"""A compiled skill: its units, what each needs, and the tree they stand in. `compile` makes one.

    >>> import skillsv as sv
    >>> skill = sv.compile("# Tone\n\n- Be brief.\n- Be kind.\n")
    >>> [unit.id for unit in skill.units][1:]
    ['tone/bullet-ef23b5', 'tone/bullet-1a45eb']

    `path` is where it was read from, None for a text. `settings` are those that `compile` was given. `compiled` is the
    data of the pipeline.
    """

    compiled: CompiledSkill
    path: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the skill's folder or file, or the name in the frontmatter of a text."""
        return self.compiled.skill.name

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units in document order; the first is the trigger, which is in every partial skill."""
        return self.compiled.units

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The dependencies: `source` needs `target`."""
        return self.compiled.edges

    @property
    def digest(self) -> str:
        """Identifies the files and the options of the compiler."""
        return self.compiled.digest

    @cached_property
    def text(self) -> str:
        """The main Markdown file."""
        return render(self, keep="all").text

    def count_tokens(self, tokenizer: str = DEFAULTS.tokenizer) -> int:
        """The tokens of all its text files."""
        return render(self, keep="all", tokenizer=tokenizer).tokens or 0

    def to_dict(self) -> CompiledDocument:
        """The JSON `skillsv.compiled/1`."""
        from skillsv.report.compiled_json import compiled_json

        return compiled_json(self.compiled)

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"<Skill {self.name}: {plural(len(self.units), 'unit')}, {plural(len(self.edges), 'dependency')}>"

    def _repr_html_(self) -> str:
        from skillsv.report.outline import outline_text

        return f"<pre>{escape(outline_text(self.compiled))}</pre>"


def compile(source: Skill | str | os.PathLike[str], **settings: object) -> Skill:  # noqa: A001 - the public name
    r"""Compile a skill: a folder, a Markdown file, or a text of Markdown with or without frontmatter.

    >>> import skillsv as sv
    >>> sv.compile("# Tone\n\nBe brief.\n")
    <Skill skill: 2 units, 1 dependency>

    A string with a line break is a text, any other a path. `settings` are those of the compiler, such as
    `granularity="section"`; a `skillsv.toml` beside the skill applies, too. Runs nothing and costs nothing.
    """
    if isinstance(source, Skill):
        return _recompile(source, settings) if settings else source
    _require_compiler_settings(settings)
    path = _find_path(source)
    options = compile_options(load_settings(path, settings, guarded=False))
    compiled = compile_files(read_text(str(source)), options) if path is None else compile_skill(path, options)
    return Skill(compiled, path, settings)


def _recompile(skill: Skill, settings: dict[str, object]) -> Skill:
    """The same skill with other settings of the compiler."""
    settings = {**skill.settings, **settings}
    if skill.path is not None:
        return compile(skill.path, **settings)
    _require_compiler_settings(settings)
    options = compile_options(load_settings(None, settings, guarded=False))
    return Skill(compile_files(skill.compiled.skill, options), None, settings)


def compiler_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Those of the given settings that `compile` takes."""
    return {name: value for name, value in given.items() if name in SETTINGS and SETTINGS[name].group == "compiler"}


def _require_compiler_settings(settings: Mapping[str, object]) -> None:
    known = [name for name, info in SETTINGS.items() if info.group == "compiler"]
    foreign = [name for name in settings if name not in known]
    if foreign:
        raise SettingsError(f"compile has no setting '{foreign[0]}'.", hint=f"Its settings are: {', '.join(known)}.")


def _find_path(source: str | os.PathLike[str]) -> Path | None:
    """The path that a caller gave; None where the string is the text of a skill."""
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return None
    return Path(source)


def render(
    skill: Skill | str | os.PathLike[str],
    *,
    keep: Iterable[str] | str | None = None,
    drop: Iterable[str] | str = (),
    operator: Operator | str = Operator.DELETE,
    tokenizer: str = DEFAULTS.tokenizer,
    filler: str = DEFAULTS.filler,
) -> Rendering:
    r"""One partial skill, byte for byte as an agent reads it.

    >>> import skillsv as sv
    >>> skill = sv.compile("# Tone\n\n- Be brief.\n- Be kind.\n")
    >>> print(sv.render(skill, drop=["tone/bullet-2"]).text, end="")
    # Tone
    <BLANKLINE>
    - Be brief.

    `keep` names the units to keep (`"all"` for all, `()` for the bare agent), `drop` those to leave out with all that
    needs them. A unit is named by its id, the beginning of its id, or its number among its kind. Raises CoalitionError
    where a kept unit needs one that is not kept. `tokens` of the result counts all its text files.
    """
    from skillsv.rendering import Renderer, token_counter

    compiled = compile(skill).compiled
    renderer = Renderer(compiled, counter=token_counter(tokenizer), filler=filler)
    rendering = renderer.render(_coalition(compiled, keep, drop), Operator(operator))
    return replace(rendering, tokens=renderer.count_tokens(rendering))


def _coalition(compiled: CompiledSkill, keep: Iterable[str] | str | None, drop: Iterable[str] | str) -> frozenset[str]:
    units = tuple(unit.id for unit in compiled.units)
    dropped = {find_unit(units, name) for name in ((drop,) if isinstance(drop, str) else drop)}
    if keep is None or keep == "all":
        kept = compiled.everything
    else:
        kept = frozenset(find_unit(units, name) for name in ((keep,) if isinstance(keep, str) else keep))
    return kept - compiled.reverse_closure(frozenset(dropped))


def orders(skill: Skill | str | os.PathLike[str], n: int = 10, *, seed: int = DEFAULTS.seed) -> list[Order]:
    r"""Insertion orders in which every unit comes after what it needs and sections stay together.

    >>> import skillsv as sv
    >>> skill = sv.compile("# Tone\n\n- Be brief.\n- Be kind.\n")
    >>> {order[0] for order in sv.orders(skill, n=100)}
    {'m'}
    """
    if n < 1:
        raise SettingsError(f"n = {n} asks for no order at all.", hint="Give a number of at least 1.")
    if seed < 0:
        raise SettingsError(f"seed = {seed} is negative.", hint="Give a number of at least 0.")
    return list(draw_orders(compile(skill), n, seed))


def draw_orders(skill: Skill, n: int, seed: int) -> Iterator[Order]:
    """The same orders one by one, for more than fit into memory."""
    import numpy as np

    from skillsv.order import Sampler

    return Sampler(skill.compiled).orders(np.random.default_rng(seed), n)
