"""Renders a coalition of units into the files that an agent reads, by deletion or by padding."""

from skillsv.rendering.padding import FILLERS
from skillsv.rendering.renderer import Renderer
from skillsv.rendering.tokens import token_counter

__all__ = ["FILLERS", "Renderer", "token_counter"]
