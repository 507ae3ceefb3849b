"""Print the size and shape of the code: modules, lines, names, cycles, tests without assertions.

python tools/code_sizes.py                   # this checkout
python tools/code_sizes.py --run             # also count the files that one `skillsv value` passes through
python tools/code_sizes.py --root ../other   # another checkout, for a comparison
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SMALL = 60
"""Lines. Modules below this are counted as small."""

MOST_OF_A_NAME = 2
"""How often a base name of a module may occur in one package."""

SHOWN = 8
"""Examples that are printed of each finding."""

TRACER = """
import sys, threading
seen = set()
def trace(frame, event, argument):
    if frame.f_code.co_flags & 2:  # a function (CO_NEWLOCALS), not the body of a module or class
        seen.add(frame.f_code.co_filename)
sys.setprofile(trace)
threading.setprofile(trace)
from skillsv.cli import run
code = run(sys.argv[1:])
sys.setprofile(None)
print(len([name for name in seen if "/src/skillsv/" in name]), file=sys.stderr)
"""


def main() -> None:
    """Print everything for one checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--run", action="store_true", help="count the files that one valuation passes through")
    options = parser.parse_args()
    for package in sorted(path for path in (options.root / "src").iterdir() if (path / "__init__.py").is_file()):
        describe_package(package)
    cycles = module_cycles(options.root / "src")
    print(f"module cycles: {len(cycles)}", *cycles[:SHOWN], sep="\n  ")
    describe_tests(options.root / "tests")
    if options.run:
        print(f"files of src/skillsv whose functions one `skillsv value` calls: {files_of_one_run(options.root)}")


def describe_package(package: Path) -> None:
    """Print sizes and names of one package."""
    sizes = {path: len(path.read_text().splitlines()) for path in sorted(package.rglob("*.py"))}
    modules = {path: size for path, size in sizes.items() if path.name != "__init__.py"}
    small = [path for path, size in modules.items() if size < SMALL and path.parent.name != "rules"]
    names = Counter(path.name for path in modules)
    repeated = [f"{name} x{count}" for name, count in names.items() if count > MOST_OF_A_NAME]
    functions = sorted(function_lengths(package), reverse=True)
    middle = sorted(modules.values())[len(modules) // 2]
    print(f"{package.name}: {len(sizes)} files, {len(modules)} modules, {sum(sizes.values()):,} lines, median {middle}")
    print(f"  modules under {SMALL} lines outside rules/: {len(small)}", *_named(small, package))
    print(f"  base names used more than {MOST_OF_A_NAME} times: {len(repeated)}", *repeated)
    print(f"  longest function: {functions[0][0]} lines, {functions[0][1]}")
    print(f"  median function: {functions[len(functions) // 2][0]} lines")


def _named(paths: list[Path], package: Path) -> list[str]:
    return [str(path.relative_to(package)) for path in paths]


def function_lengths(folder: Path) -> Iterator[tuple[int, str]]:
    """Lines and name of every function below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{path.relative_to(folder)}:{node.name}"


def module_cycles(source: Path) -> list[str]:
    """Groups of modules that import each other, imports inside functions included."""
    graph = import_graph(source)
    reach = {module: reachable(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in graph
        if module in reach[module]
    }
    return [" <-> ".join(group) for group in sorted(groups)]


def import_graph(source: Path) -> dict[str, set[str]]:
    """Which module of the source folder imports which."""
    paths = {_dotted(path, source): path for path in source.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= (full & paths.keys()) or {node.module}
        graph[module] = (imported & paths.keys()) - {module}
    return graph


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """All modules that can be reached from one along imports."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += graph[module]
    return seen


def _dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def describe_tests(tests: Path) -> None:
    """Print how many tests there are and which of them assert nothing."""
    functions = [
        (path, node)
        for path in sorted(tests.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    checking = _checking_names(tests)
    idle = [f"{path.relative_to(tests)}:{node.name}" for path, node in functions if not _asserts(node, checking)]
    print(f"tests: {len(functions)} functions, {len(idle)} without an assertion", *idle, sep="\n  ")


def _checking_names(tests: Path) -> set[str]:
    """Functions of the test tree that assert something themselves."""
    names = {"raises", "warns", "fail"}
    for path in tests.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("test_"):
                continue
            if any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
                names.add(node.name)
    return names


def _asserts(test: ast.AST, checking: set[str]) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in checking or name.startswith(("assert_", "expect")):
                return True
    return False


def files_of_one_run(root: Path) -> int:
    """In how many files of the product one small valuation of the example calls a function."""
    example = root / "examples" / "support-desk"
    with tempfile.TemporaryDirectory() as folder:
        words = ["value", str(example), "--tasks", str(example / "evals" / "tasks.jsonl"), "--panel-b", "0"]
        words += ["--agent", f"python:{example / 'evals' / 'agent.py'}:answer", "--max-rollouts", "400", "--quiet"]
        result = subprocess.run(
            [sys.executable, "-c", TRACER, *words, "--run-dir", f"{folder}/run"],
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
    return int(result.stderr.split()[-1])


if __name__ == "__main__":
    main()
