"""A small skill with its run and a proof, and a client that speaks the protocol with `skillsv lsp` on stdin and stdout."""

import asyncio
import shutil
import sys

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

import skillsv as sv

SKILL = """\
---
name: words
description: Words to say.
---

# Wörter 😀

- Say `alpha` when asked for the first wörd. 😀
- 😀 Mumble — it is never asked for.
- Say `beta` when asked for the second.
- Whisper 😀 at the end.
"""

SECONDS = 30
"""How long a test waits for an answer before it fails."""


def answer(skill, task):
    return "yes" if skill and f"`{task.input}`" in skill.text else "no"


@pytest.fixture(scope="session")
def valued(tmp_path_factory):
    """A folder with a skill, its run in `.skillsv`, and the proof of the shorter skill."""
    place = tmp_path_factory.mktemp("plätze")
    folder = place / "words"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    words = ("alpha", "beta", "gamma", "delta")
    tasks = [{"id": f"{n}", "input": words[n % 4], "target": "yes" if n % 4 < 2 else "no"} for n in range(40)]
    run = sv.value(
        folder, tasks=tasks, agent=answer, max_rollouts=280, resolution=6, run_dir=place / ".skillsv" / "words"
    )
    short = sv.prune(run)
    assert len(short.removed) == 2
    assert sv.confirm(run, short, max_drop=15).met
    return place


@pytest.fixture
def place(valued, tmp_path):
    """A copy of that folder, which a test may change."""
    copy = tmp_path / "plätze 😀"
    shutil.copytree(valued, copy)
    manifest = copy / ".skillsv" / "words" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace(str(valued), str(copy)), "utf-8")
    return copy


class Session:
    """A client with one server. `diagnostics` holds what was published last, by address and version."""

    def __init__(self, *flags, encodings=None):
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("test", "1")
        self.diagnostics = {}
        self.published = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params):
            self.diagnostics[params.uri, params.version] = list(params.diagnostics)
            self.published.set()

        program = "from skillsv.cli import main; main()"
        self.wait(self.client.start_io(sys.executable, "-c", program, "lsp", *flags))
        general = None if encodings is None else types.GeneralClientCapabilities(position_encodings=encodings)
        self.ready = self.wait(
            self.client.initialize_async(
                types.InitializeParams(capabilities=types.ClientCapabilities(general=general), process_id=None)
            )
        )
        self.client.initialized(types.InitializedParams())

    def wait(self, coroutine):
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, SECONDS))

    def open(self, path, text=None):
        """Open a document; the result is its address."""
        text = path.read_bytes().decode() if text is None else text
        item = types.TextDocumentItem(uri=path.as_uri(), language_id="markdown", version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return item.uri

    def change(self, uri, version, text):
        name = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        whole = types.TextDocumentContentChangeWholeDocument(text=text)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=name, content_changes=[whole])
        )

    def findings(self, uri, version=1):
        """The diagnostics of this version of a document, once they have come."""

        async def receive():
            while (uri, version) not in self.diagnostics:
                self.published.clear()
                await self.published.wait()

        self.wait(receive())
        return self.diagnostics[uri, version]

    def hints(self, uri):
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        return {hint.position.line: hint for hint in self.wait(self.client.text_document_inlay_hint_async(params))}

    def hover(self, uri, line):
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, 0))
        return self.wait(self.client.text_document_hover_async(params))

    def actions(self, uri, line):
        there = types.Range(types.Position(line, 0), types.Position(line, 0))
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), there, types.CodeActionContext([]))
        return {action.title: action for action in self.wait(self.client.text_document_code_action_async(params))}

    def close(self):
        self.wait(self.client.shutdown_async(None))
        self.client.exit(None)
        self.wait(self.client._server.wait())
        self.wait(self.client.stop())
        self.loop.close()
        return self.client._server.returncode


@pytest.fixture(scope="module")
def session():
    """One server for all tests of a module: documents of different folders do not meet."""
    session = Session()
    yield session
    assert session.close() == 0
