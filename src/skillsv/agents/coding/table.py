"""The coding programs that SkillSV knows, one row each. To add one, write its module and add a row."""

from __future__ import annotations

from collections.abc import Mapping

from skillsv.agents.coding.aider import AIDER
from skillsv.agents.coding.claude_code import CLAUDE_CODE
from skillsv.agents.coding.codex import CODEX
from skillsv.agents.coding.gemini import GEMINI
from skillsv.agents.coding.mini_swe_agent import MINI_SWE_AGENT
from skillsv.agents.coding.opencode import OPENCODE
from skillsv.agents.coding.pi import PI
from skillsv.agents.coding.program import CodingProgram

PROGRAMS: Mapping[str, CodingProgram] = {
    program.name: program for program in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, PI, MINI_SWE_AGENT, AIDER)
}
"""By the name before the colon in `--agent NAME:MODEL`."""
