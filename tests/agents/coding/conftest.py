from __future__ import annotations

import sys
from pathlib import Path

# In importlib mode test folders are not packages: this makes `scripted_server` importable.
sys.path.insert(0, str(Path(__file__).parent))
