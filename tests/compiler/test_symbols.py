"""What code defines and uses, in each language that the compiler reads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillsv.compiler.symbols import language_of, language_of_file
from skillsv.compiler.symbols.shell import is_placeholder


def _defined(language, code):
    found = language_of(language).define(code)
    return set(found.names), set(found.variables)


@pytest.mark.parametrize(
    ("language", "code", "names", "variables"),
    [
        (
            "python",
            "import os\nfrom a import B_C\nX_Y = 1\nz = 2\ndef f(q): w = 1\nclass K: V = 1",
            {"X_Y", "f", "K"},
            {"z"},
        ),
        ("python", "A_B: int = 1\nc, D_E = 1, 2\nF_G: int\n", {"A_B", "D_E"}, {"c"}),
        (
            "python",
            "API_KEY = 'your-key-here'\nOUT_PATH = '...'\nplace = '<place>'",
            {"API_KEY", "OUT_PATH"},
            {"place"},
        ),
        ("python", "x = '\\d'", set(), {"x"}),
        ("python", "not python at all (", set(), set()),
        ("bash", "OUT=/x\nname=1\nrun() { LOCAL_X=1; }\nPATH=$PATH:/b", {"OUT", "run"}, {"name"}),
        ("sh", "export KEY='<your key>'\nexport DIR_A=a\nOUT='<a folder>'", {"DIR_A", "OUT"}, set()),
        ("bash", "cmd && AB=1", {"AB"}, set()),
        ("console", "$ export OUT=/x\nNOISE=1\n$ name=2", {"OUT"}, {"name"}),
        (
            "js",
            "import x from 'y'\nconst a = require('b')\nconst MAX = 1\nlet low = 2\nfunction f(p) {}\nclass C {}",
            {"MAX", "f", "C"},
            {"low"},
        ),
        ("js", "export const go = (x) => x\nconst { d } = e", {"go"}, set()),
        ("js", "const OUT = '...'", {"OUT"}, set()),
        (
            "ts",
            "interface Shape { a: number }\ntype T = string\nenum E { A }\nexport class K<T> {}",
            {"Shape", "T", "E", "K"},
            set(),
        ),
    ],
)
def test_definitions_of_each_language(language, code, names, variables):
    assert _defined(language, code) == (names, variables)


@pytest.mark.parametrize(
    ("language", "code", "uses"),
    [
        ("python", "import os\nx = 1\nprint(x, os, OUT, helper(y))", {"OUT", "helper", "y"}),
        ("python", "def f(a):\n    b = a\n    return b + LIMIT", {"LIMIT"}),
        ("python", "[q for q in rows]", {"rows"}),
        ("python", "class A(Base):\n    x: Kind", {"Base", "Kind"}),
        ("bash", 'echo "$OUT" ${DIR}/x | deploy; LOC=1; echo $LOC', {"OUT", "DIR", "echo", "deploy"}),
        ("bash", "for item in $LIST; do echo $item; done", {"LIST", "echo"}),
        ("console", "$ ls $OUT\nthe output names $NOISE\n", {"OUT", "ls"}),
        (
            "js",
            "import a from 'b'\nconst c = a(MAX)\nfunction f(p, {q}) { return p + q + out }\nf(c.prop)",
            {"MAX", "out"},
        ),
        ("ts", "const x: Shape = make(1)\nconst g = y => y", {"Shape", "make"}),
    ],
)
def test_uses_of_each_language(language, code, uses):
    assert language_of(language).use(code) == uses


def test_names_that_only_name_tags_by_their_members_are_containers():
    code = "<Menu.Item a={b.c}><Plain/><Both.X/>{Both}</Menu.Item>"
    assert language_of("tsx").containers(code) == {"Menu"}
    assert language_of("jsx").containers(code) == {"Menu"}
    assert not language_of("python").containers("Menu.Item < 3")


def test_objects_and_functions_with_assigned_members_have_members():
    code = "function Menu() {}\nfunction Tabs() {}\nTabs.Item = Item\nconst Form = {Row}\nconst Go = () => 1\n"
    assert language_of("js").define(code).with_members == {"Tabs", "Form"}


def test_imports_of_python_and_javascript_are_listed():
    python = language_of("py").define("import a.b\nfrom c import d\nfrom . import e\nfrom ..f import g")
    assert [name for name, _ in python.modules] == ["a.b", "c", "c.d", ".", ".e", "..f", "..f.g"]
    script = language_of("js").define("import x from './lib/a'\nconst y = require('../b.js')\nimport 'react'")
    assert script.modules == (("./lib/a", 0), ("../b.js", 1))


@pytest.mark.parametrize("value", ["<key>", "'your-api-key'", "xxxx", "...", "", "changeme", '"YOUR_TOKEN"'])
def test_values_for_the_reader_to_fill_in_are_placeholders(value):
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["/data/out", "3", "output.xlsx", "us-east-1"])
def test_real_values_are_not_placeholders(value):
    assert not is_placeholder(value)


def test_a_language_is_found_by_fence_and_by_file_ending():
    assert language_of("text") is None
    assert language_of("tsx").family == language_of_file("a/b.JS").family == "javascript"
    assert language_of_file("Makefile") is None


def test_grammars_and_numpy_are_loaded_only_when_needed(tmp_path):
    (tmp_path / "SKILL.md").write_text("# T\n\n```python\nX_Y = 1\n```\n\n`X_Y`\n")
    program = (
        "import sys; from pathlib import Path; from skillsv.compiler import compile_skill; "
        "compile_skill(Path(sys.argv[1])); print([n for n in sys.modules if n in ('numpy', 'scipy', 'tree_sitter')])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
