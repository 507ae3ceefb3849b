import pytest

from skillsv.compiler import compile_skill
from skillsv.compiler.lint import lint_compiled

BODY = "# Tea\n\nBoil the water.\n"


def head(*lines):
    return "\n".join(["---", *lines, "---", ""])


def codes(findings):
    return {finding.code for finding in findings}


@pytest.mark.parametrize(
    ("code", "frontmatter", "line"),
    [
        ("frontmatter-missing", "", 1),
        ("frontmatter-missing", "---\nname: tea\n", 1),
        ("frontmatter-yaml", head("name: tea", "description: a: b: c"), 3),
        ("frontmatter-yaml", head("- name", "- description"), 2),
        ("name-missing", head("description: Makes tea."), 1),
        ("name-missing", head("name:", "description: Makes tea."), 2),
        ("name-missing", head("name: [tea]", "description: Makes tea."), 2),
        ("name-form", head("name: Tea", "description: Makes tea."), 2),
        ("name-form", head("name: tea--pot", "description: Makes tea."), 2),
        ("name-form", head("name: -tea", "description: Makes tea."), 2),
        ("name-form", head(f"name: {'t' * 65}", "description: Makes tea."), 2),
        ("name-folder", head("name: coffee", "description: Makes tea."), 2),
        ("description-missing", head("name: tea"), 1),
        ("description-missing", head("name: tea", "description: ''"), 3),
        ("description-long", head("name: tea", f"description: {'t' * 1025}"), 3),
        ("compatibility-long", head("name: tea", "description: Tea.", f"compatibility: {'t' * 501}"), 4),
        ("frontmatter-type", head("name: tea", "description: Tea.", "allowed-tools: [Bash]"), 4),
        ("frontmatter-type", head("name: tea", "description: Tea.", "metadata: none"), 4),
        ("duplicate-key", head("name: tea", "description: Tea.", "name: tea"), 4),
        ("unknown-key", head("name: tea", "description: Tea.", "version: 1"), 4),
        ("host-key", head("name: tea", "description: Tea.", "argument-hint: cup"), 4),
    ],
)
def test_a_violation_of_the_specification_is_reported_at_its_line(places, code, frontmatter, line):
    assert places(code, BODY, head=frontmatter) == [("SKILL.md", line)]


def test_values_at_the_limits_are_allowed(lint):
    name = "t" * 64
    frontmatter = head(
        f"name: {name}",
        f"description: {'d' * 1024}",
        f"compatibility: {'c' * 500}",
        "license: MIT",
        "allowed-tools: Bash(git:*) Read",
        "metadata:",
        "  version: '1'",
    )
    assert lint(BODY, head=frontmatter, folder=name) == ()


def test_unreadable_frontmatter_gives_one_finding(lint):
    assert codes(lint(BODY, head=head("name: tea", "description: 'open"))) == {"frontmatter-yaml"}


def test_missing_frontmatter_is_an_error_only_for_a_folder(lint, tmp_path):
    assert codes(lint(BODY, head="")) == {"frontmatter-missing"}
    single = tmp_path / "best_skill.md"
    single.write_text(BODY)
    assert codes(lint_compiled(compile_skill(single))) == {"no-frontmatter"}


def test_the_specification_is_not_applied_to_a_single_file(tmp_path):
    single = tmp_path / "prompt.md"
    single.write_text(head("name: Some Prompt", "tools: all") + BODY)
    assert lint_compiled(compile_skill(single)) == ()


def test_nested_yaml_aliases_are_not_expanded(lint):
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    bomb += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    assert codes(lint(BODY, head=head("name: tea", "description: Tea.", *bomb))) == {"frontmatter-yaml"}
