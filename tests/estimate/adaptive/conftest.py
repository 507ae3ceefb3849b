import sys
from pathlib import Path

# With importlib mode test folders are not packages: the shared module `scored_agents` is found by its path.
sys.path.insert(0, str(Path(__file__).parent))
