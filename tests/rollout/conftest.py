import sys
from pathlib import Path

# With importlib mode test folders are no packages: the toy world lies beside the tests that share it.
sys.path.insert(0, str(Path(__file__).parent))
