"""What code defines and uses, language by language. Grammars are loaded when a block of their language appears."""

from __future__ import annotations

from skillsv.compile.symbols.definitions import Definitions
from skillsv.compile.symbols.languages import Language, language_of, language_of_file

__all__ = ["Definitions", "Language", "language_of", "language_of_file"]
