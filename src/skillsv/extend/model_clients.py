"""Ask a language model in a conversation of one's own, with the retries, prices and usage of skillsv.

Needs the extra `models`. `redact` removes the secrets of this process from a text before it is kept.
"""

from skillsv.agents.model import ModelClient
from skillsv.agents.model.failures import is_cut
from skillsv.sandbox.redaction import redact

__all__ = ["ModelClient", "is_cut", "redact"]
