"""Edges of public skills that were read by hand: the false ones are gone, the true ones are there."""

from __future__ import annotations

import pytest

from skillsv.compiler import CompileOptions, compile_skill

FALSE_QUOTATIONS = {
    "K-Dense-AI__claude-scientific-skills__protocolsio-integration": {379, 380, 403},
    "K-Dense-AI__claude-scientific-skills__venue-templates": {548, 563},
    "expo__skills__expo-web-to-native": {28, 33},
}
"""Lines of SKILL.md whose words equal a heading and point at nothing: labels, and first words of a sentence."""

FALSE_QUOTATIONS_IN_SENTENCES = {
    "K-Dense-AI__claude-scientific-skills__venue-templates": {
        "conferences_formatting.md": 343,
        "medical_journal_styles.md": 3,
    },
    "anthropics__skills__mcp-builder": {"node_mcp_server.md": 5, "python_mcp_server.md": 660},
}
"""Lines of reference files with a term that equals a heading."""

TRUE_QUOTATIONS = {"litaohz__SkillOpt__xlsx-skill": {22, 43}, "openai__skills__linear": {44}}
"""Lines of SKILL.md that point at a section by its heading."""

INDEPENDENT_EXAMPLES = {
    ("vercel-labs__agent-skills__react-native-skills", "AGENTS.md"): {213, 231, 267, 315, 569, 1376, 1473, 1498, 1704},
    ("vercel-labs__agent-skills__react-best-practices", "AGENTS.md"): {343, 1208, 1218, 2128, 3017},
    ("vercel-labs__agent-skills__vercel-cli-with-tokens", "SKILL.md"): {45, 57, 112, 301, 325},
}
"""Lines that use a name which an example of another section happens to define, too."""

SHARED_DEFINITIONS = {
    ("K-Dense-AI__claude-scientific-skills__open-notebook", "SKILL.md"): {114, 135, 148, 166, 183, 203},
    ("K-Dense-AI__claude-scientific-skills__esm", "references/esm-c-api.md"): {247, 273},
    ("muratcankoylan__Agent-Skills-for-Context-Engineering__memory-systems", "references/implementation.md"): {
        85,
        252,
        326,
    },
}
"""Lines that need a constant, function or class of another section."""


@pytest.fixture(scope="module")
def lines_of(corpus):
    """The lines of a file of a corpus skill, SKILL.md if not told, from which a rule finds edges."""

    def lines(name, rule, file="SKILL.md", **options):
        folder = next((folder for folder in corpus if folder.name == name), None)
        if folder is None:
            pytest.skip(f"the corpus has no skill {name}")
        edges = compile_skill(folder, CompileOptions(**options)).edges
        return {edge.at.line for edge in edges if edge.rule == rule and edge.at.file == file}

    return lines


@pytest.mark.heavy
def test_words_of_a_heading_at_the_start_of_a_sentence_are_no_quotation(lines_of):
    for name, lines in FALSE_QUOTATIONS.items():
        assert lines_of(name, "R3", rules_version="1") >= lines
        assert not lines_of(name, "R3") & lines


@pytest.mark.heavy
def test_a_term_that_equals_a_heading_is_no_quotation(corpus):
    for name, lines in FALSE_QUOTATIONS_IN_SENTENCES.items():
        folder = next((folder for folder in corpus if folder.name == name), None)
        if folder is None:
            pytest.skip(f"the corpus has no skill {name}")
        for version, expected in (("1", lines.items()), ("2", set())):
            edges = compile_skill(folder, CompileOptions(rules_version=version)).edges
            found = {(edge.at.file.rpartition("/")[2], edge.at.line) for edge in edges if edge.rule == "R3"}
            assert found & set(lines.items()) == set(expected)


def test_quotations_that_point_at_a_section_are_found(lines_of):
    for name, lines in TRUE_QUOTATIONS.items():
        assert lines_of(name, "R3") == lines


def test_labels_in_bold_introduce_the_code_below_them(lines_of):
    labels = {54, 59, 69, 74, 79}
    assert not lines_of("K-Dense-AI__claude-scientific-skills__fluidsim", "R9", rules_version="1") & labels
    assert lines_of("K-Dense-AI__claude-scientific-skills__fluidsim", "R9") >= labels


@pytest.mark.heavy
def test_names_of_independent_examples_need_nothing(lines_of):
    for (name, file), lines in INDEPENDENT_EXAMPLES.items():
        assert lines_of(name, "R4", file, rules_version="1") >= lines
        assert not lines_of(name, "R4", file) & lines


def test_definitions_that_other_sections_share_are_found(lines_of):
    for (name, file), lines in SHARED_DEFINITIONS.items():
        assert lines_of(name, "R4", file) >= lines


@pytest.mark.heavy
def test_references_between_documents_merge_nothing(corpus):
    for folder in corpus:
        kinds = {edge.rule for found in compile_skill(folder).contractions for edge in found.edges}
        assert not kinds & {"R1", "R3"}
