"""Renders a coalition of units into the files that an agent reads, by deletion or by padding."""

from skillsv.render.padding import FILLERS
from skillsv.render.renderer import Renderer
from skillsv.render.tokens import token_counter

__all__ = ["FILLERS", "Renderer", "token_counter"]
