"""Where a rendered skill lies in a rollout's working folder."""

from __future__ import annotations

import re
from pathlib import Path

from skillsv.model.coalition import Rendering
from skillsv.sandbox.workspace import inside, write_tree

DEFAULT_SKILL_DIR = ".skillsv/skills"
"""Where the skill lies unless a setting (`--skill-dir .claude/skills`) puts it where a coding agent looks."""


def place_skill(rendering: Rendering, workspace: Path, skill_dir: str | None) -> Path:
    """Write the skill to `workspace/SKILL_DIR/NAME` and return that folder. Never called for the bare agent."""
    folder = workspace / inside(skill_dir or DEFAULT_SKILL_DIR) / folder_name(rendering.skill_name)
    write_tree(rendering, folder)
    return folder


def folder_name(skill_name: str) -> str:
    """The skill's name as one safe folder name; the name comes from a file nobody vouches for."""
    safe = re.sub(r"[^\w.-]+", "-", skill_name).strip(".-")[:64]
    return safe or "skill"
