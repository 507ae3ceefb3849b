"""Checks of Python names: imports and uses of names that nothing defines."""


def test_an_import_of_a_name_that_the_module_lacks_is_reported(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nfrom scripts.pot import boil, pour\nfrom pot import LID\n```\n",
        "scripts/pot.py": "import os\nLID = 1\nif LID:\n    def boil(): ...\nelse:\n    from os import path as boil\n",
        "scripts/cup.py": "from pot import boil\nfrom .pot import spill\nfrom os import nothing\n",
    }
    assert places("missing-import", files) == [("SKILL.md", 8), ("scripts/cup.py", 2)]


def test_imports_from_modules_with_unknown_names_are_accepted(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nfrom a import x\nfrom b import x\nfrom c import x\nfrom numpy import x\n```\n",
        "a.py": "from elsewhere import *\n",
        "b.py": "def __getattr__(name): ...\n",
        "c.py": "def (:\n",
    }
    assert places("missing-import", files) == []


def test_a_name_that_is_used_but_defined_nowhere_is_noted(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nwater = 1\nx = len(boil(water))\npour(cup, LID)\ncup.fill()\n```\n\n"
        "```python\nfrom kitchen import *\nwash(cup)\n```\n\n```python\nnot python(\n```\n",
        "scripts/pot.py": "def pour(cup, lid): ...\n",
    }
    assert places("undefined-symbol", files) == [("SKILL.md", 9), ("SKILL.md", 10)]
    more = files | {"notes.md": "```python\nLID = 1\n\ndef boil(x): ...\n```\n"}
    assert places("undefined-symbol", more) == []
