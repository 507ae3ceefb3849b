"""What each line of an agent skill is worth."""

__version__ = "0.1.0"
