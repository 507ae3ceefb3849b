"""Write the JSON Schemas of the documents that skillsv prints, from their types, into docs/schema.

python tools/write_schemas.py            # write all files
python tools/write_schemas.py --check    # write nothing; exit code 1 where a file is not up to date
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import msgspec

from skillsv.model.check_document import CheckDocument
from skillsv.model.compiled_document import CompiledDocument
from skillsv.model.confirmation_document import ConfirmationDocument
from skillsv.model.matrix_document import MatrixDocument
from skillsv.model.plan_document import PlanDocument
from skillsv.model.shrink_document import ShrinkDocument
from skillsv.model.trigger_document import TriggerDocument
from skillsv.model.valuation_document import ValuationDocument
from skillsv_bench.results_document import ResultsDocument

FOLDER = Path(__file__).parents[1] / "docs" / "schema"
"""Where the schemas are published."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The version of JSON Schema that msgspec writes."""

DOCUMENTS: dict[str, type] = {
    "skillsv.bench-1.json": ResultsDocument,
    "skillsv.check-1.json": CheckDocument,
    "skillsv.compiled-1.json": CompiledDocument,
    "skillsv.confirmation-1.json": ConfirmationDocument,
    "skillsv.matrix-1.json": MatrixDocument,
    "skillsv.plan-1.json": PlanDocument,
    "skillsv.shrink-1.json": ShrinkDocument,
    "skillsv.trigger-1.json": TriggerDocument,
    "skillsv.valuation-1.json": ValuationDocument,
}
"""The type of each document, by the name of the file with its schema."""


def main(words: list[str]) -> int:
    """Write the schemas, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is not up to date")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the schemas are")
    options = parser.parse_args(words)
    texts = {options.folder / name: schema_text(document) for name, document in DOCUMENTS.items()}
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if options.check:
        for path in stale:
            print(f"{path} is not up to date. Run: python tools/write_schemas.py", file=sys.stderr)
        return 1 if stale else 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(texts[path], encoding="utf-8")
        print(f"wrote {path}")
    return 0


def schema_text(document: type) -> str:
    """The JSON Schema of one document."""
    schema = {"$schema": DIALECT, **msgspec.json.schema(document)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
