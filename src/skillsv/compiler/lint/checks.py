"""The table of all lint checks: code, severity, title, and the function that finds the defect.

To add a check, write a function from `Subject` to remarks in the module of its topic, and add a row to `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from skillsv.compiler.lint import files, frontmatter, markdown, references, symbols
from skillsv.compiler.lint.subject import Remark, Subject
from skillsv.model.skill import Severity

_ERROR = Severity.ERROR
_WARNING = Severity.WARNING
_NOTE = Severity.NOTE


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of defect. An error stops agents from using the skill, a warning misleads them, a note is advice.

    `example` shows the defect in a few words. Its remarks replace the compiler's own findings with the code `replaces`.
    `usual`: it is made unless all checks are asked for. `fixable`: `lint --fix` repairs it.
    """

    code: str
    severity: Severity
    title: str
    find: Callable[[Subject], Iterable[Remark]]
    example: str
    replaces: str = ""
    usual: bool = True
    fixable: bool = False


CHECKS: tuple[Check, ...] = (
    Check(
        "frontmatter-missing",
        _ERROR,
        "No frontmatter",
        frontmatter.frontmatter_missing,
        "A SKILL.md that begins with `# Title`",
        replaces="no-frontmatter",
    ),
    Check(
        "frontmatter-yaml",
        _ERROR,
        "Frontmatter that is not YAML",
        frontmatter.frontmatter_not_yaml,
        "description: Use when: always",
        replaces="frontmatter-yaml",
    ),
    Check("name-missing", _ERROR, "No name", frontmatter.name_missing, "--- / description: Makes tea. / ---"),
    Check("name-form", _ERROR, "A name in a form that is not allowed", frontmatter.name_not_allowed, "name: My Skill!"),
    Check(
        "name-folder",
        _ERROR,
        "Name and folder differ",
        frontmatter.name_differs_from_folder,
        "name: tea in the folder coffee/",
    ),
    Check("description-missing", _ERROR, "No description", frontmatter.description_missing, "--- / name: tea / ---"),
    Check(
        "description-long",
        _ERROR,
        "A description beyond 1024 characters",
        frontmatter.description_too_long,
        "description: 1,500 characters",
    ),
    Check(
        "compatibility-long",
        _ERROR,
        "Compatibility beyond 500 characters",
        frontmatter.compatibility_too_long,
        "compatibility: 600 characters",
    ),
    Check("frontmatter-type", _WARNING, "A value of the wrong type", frontmatter.wrong_type, "name: 12"),
    Check("duplicate-key", _WARNING, "The same key twice", frontmatter.duplicate_key, "name: tea / name: coffee"),
    Check("unknown-key", _WARNING, "A key that is not in the specification", frontmatter.unknown_key, "autor: Kim"),
    Check("host-key", _NOTE, "A key that only some hosts read", frontmatter.host_key, "argument-hint: FILE"),
    Check(
        "dangling-path",
        _WARNING,
        "A path to a file that is not there",
        references.dangling_path,
        "Run scripts/gone.py.",
    ),
    Check(
        "unreached-file",
        _NOTE,
        "A file that nothing leads to",
        references.unreached_file,
        "references/old.md, which no file names",
    ),
    Check(
        "missing-import",
        _WARNING,
        "An import of a name that the module does not define",
        symbols.missing_import,
        "from helper import gone",
    ),
    Check(
        "undefined-symbol",
        _NOTE,
        "A symbol that nothing in the skill defines",
        symbols.undefined_symbol,
        "A Python block that calls load(), which nothing defines",
        usual=False,
    ),
    Check(
        "cycle",
        _NOTE,
        "Parts that need each other in a circle",
        references.reference_cycle,
        "a.py imports b.py, and b.py imports a.py",
        usual=False,
    ),
    Check(
        "empty-heading",
        _WARNING,
        "A heading with nothing below",
        markdown.empty_heading,
        "## Notes, and then the next heading",
    ),
    Check("duplicate-heading", _WARNING, "The same heading twice", markdown.duplicate_heading, "## Notes, twice"),
    Check(
        "glued-heading", _WARNING, "A heading glued to a line", markdown.glued_heading, "The end.## Next", fixable=True
    ),
    Check(
        "heading-space", _WARNING, "A heading without a space", markdown.heading_without_space, "##Title", fixable=True
    ),
    Check(
        "accidental-heading",
        _WARNING,
        "A paragraph underlined by a rule",
        markdown.accidental_heading,
        "Two lines / of text / ---",
        fixable=True,
    ),
    Check(
        "unclosed-fence",
        _WARNING,
        "A code fence that is never closed",
        markdown.unclosed_fence,
        "```python, and no ``` below",
    ),
    Check(
        "swallowed-fence",
        _WARNING,
        "A code fence that does not act as one",
        markdown.swallowed_fence,
        "A ```python block inside a ```markdown block",
    ),
    Check(
        "broken-table",
        _WARNING,
        "Table rows without their header",
        markdown.broken_table,
        "| a | b | after a blank line, without its header",
    ),
    Check("long-body", _WARNING, "A very long body", markdown.long_body, "SKILL.md with 900 lines"),
    Check(
        "byte-order-mark",
        _WARNING,
        "A byte order mark",
        files.byte_order_mark,
        "A file that begins with the bytes EF BB BF",
        fixable=True,
    ),
    Check(
        "mixed-line-ends",
        _WARNING,
        "Mixed line ends",
        files.mixed_line_ends,
        "CRLF on some lines, LF on others",
        fixable=True,
    ),
    Check(
        "placeholder-arguments",
        _NOTE,
        "A placeholder for arguments",
        markdown.arguments_placeholder,
        "Translate $ARGUMENTS.",
    ),
    Check(
        "placeholder-command",
        _NOTE,
        "A placeholder for a command's output",
        markdown.command_placeholder,
        "!`git status`",
    ),
    Check(
        "evals-leak",
        _WARNING,
        "Tasks and answers inside the skill",
        files.evals_folder,
        "my-skill/evals/evals.json",
        replaces="evals",
    ),
    Check(
        "evals-lookalike",
        _WARNING,
        "A folder that sounds like tasks and answers",
        files.evals_lookalike,
        "my-skill/evaluation/",
    ),
    Check(
        "evals-named",
        _WARNING,
        "The skill sends the agent to the answers",
        files.evals_reference,
        "See evals/ for the answers.",
    ),
)

COMPILER_TITLES: Mapping[str, str] = {
    "dangling-link": "A link that leads nowhere",
    "evals": "Tasks and answers inside the skill",
    "empty-section": "A reference to a section without content",
    "file-name": "A file name that is not UTF-8",
    "frontmatter-yaml": "Frontmatter that is not YAML",
    "main-name": "The main file is not called SKILL.md",
    "nested-skill": "A skill inside the skill",
    "no-frontmatter": "No frontmatter",
    "not-utf8": "Bytes that are not UTF-8",
    "nul": "A NUL character",
    "orphan-marker": "A marker without its partner",
    "single-file": "One file of a folder that holds more",
    "special-file": "A file that is not a regular file",
    "symlink": "A symbolic link",
    "unreadable": "A file that cannot be read",
}
"""Titles of the findings of the compiler itself."""

COMPILER_EXAMPLES: Mapping[str, str] = {
    "dangling-link": "See [notes](gone.md).",
    "evals": "my-skill/evals/evals.json",
    "empty-section": "See [notes](#notes), a heading without text",
    "file-name": "A file name in Latin-1",
    "frontmatter-yaml": "description: Use when: always",
    "main-name": "skill.md",
    "nested-skill": "my-skill/other/SKILL.md",
    "no-frontmatter": "A text that begins with `# Title`",
    "not-utf8": "A text saved as Latin-1",
    "nul": "A NUL character in SKILL.md",
    "orphan-marker": "<!-- SLOW_UPDATE_START --> without its end",
    "single-file": "skillsv lint my-skill/SKILL.md",
    "special-file": "A named pipe",
    "symlink": "references/a.md -> /etc/passwd",
    "unreadable": "A file without read permission",
}
"""Examples of the findings of the compiler itself."""
