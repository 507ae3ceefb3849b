"""The language server: diagnostics as you type, values as inlay hints and hovers, proved deletions as code actions.

It reads the open texts, the skill on disk and its run folder. It runs no agent, no verifier and no code of the skill,
and it writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from skillsv.errors import SkillSVError
from skillsv.lsp.deletions import Deletion, find_deletions
from skillsv.lsp.descriptions import hint_label, hover_text
from skillsv.lsp.open_skills import SavedSkill, compile_open, find_skill, lint_open, read_saved
from skillsv.lsp.positions import Encoding, Position, Positions
from skillsv.lsp.run_search import find_values
from skillsv.lsp.unit_states import ValuedText, compare_with_run
from skillsv.model.skill import Finding, Lines, Severity, Span
from skillsv.report.escape import escape_line
from skillsv.settings import compile_options
from skillsv.version import __version__

QUIET_SECONDS = 0.15
"""How long nothing is typed before the text is linted again."""

SOURCE = "skillsv"
"""The name that editors show beside a diagnostic."""

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDocument:
    """One document that the editor shows, the skill it belongs to, and its path in it."""

    uri: str
    version: int | None
    path: Path
    skill: Path
    positions: Positions

    @property
    def name(self) -> str:
        """The path inside the skill."""
        root = self.skill if self.skill != self.path else self.path.parent
        return self.path.relative_to(root).as_posix()


@dataclass(eq=False)
class SkillServer:
    """The state of one session. `opened` are the addresses of open documents, as the client writes them.

    `saved` are skills as read from disk, until a document is opened, saved or closed.
    """

    server: LanguageServer
    runs: Sequence[Path] = ()
    opened: set[str] = field(default_factory=set)
    saved: dict[Path, SavedSkill] = field(default_factory=dict)
    pending: dict[Path, asyncio.TimerHandle] = field(default_factory=dict)

    def document(self, uri: str) -> OpenDocument | None:
        """The open document with this address; None where it is no file of a skill."""
        path = _file_path(uri)
        skill = None if path is None else find_skill(path)
        if path is None or skill is None:
            return None
        found = self.server.workspace.get_text_document(uri)
        positions = Positions(found.source, cast("Encoding", str(self._encoding())))
        return OpenDocument(uri=uri, version=found.version, path=path, skill=skill, positions=positions)

    def _encoding(self) -> str:
        kind = self.server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        return kind.value if isinstance(kind, types.PositionEncodingKind) else str(kind)

    def documents(self, skill: Path) -> list[OpenDocument]:
        """All open documents of a skill."""
        found = map(self.document, sorted(self.opened))
        return [document for document in found if document is not None and document.skill == skill]

    def texts(self, skill: Path) -> dict[Path, str]:
        """The open texts of a skill."""
        return {document.path: document.positions.text for document in self.documents(skill)}

    def read(self, document: OpenDocument) -> SavedSkill:
        """The skill on disk, read once until something is saved."""
        if document.skill not in self.saved:
            self.saved[document.skill] = read_saved(document.skill, document.path, document.positions.text)
        return self.saved[document.skill]

    def publish(self, skill: Path) -> None:
        """Lint a skill as it is open, and send the findings of each open document of it."""
        self.pending.pop(skill, None)
        for document in self.documents(skill):
            diagnostics = self._diagnose(document)
            self.server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=document.uri, version=document.version, diagnostics=diagnostics)
            )

    def _diagnose(self, document: OpenDocument) -> list[types.Diagnostic]:
        try:
            findings = lint_open(self.read(document), self.texts(document.skill))
        except SkillSVError as error:
            findings = (Finding(code="skill", severity=Severity.ERROR, message=str(error), file=document.name),)
        return [_diagnostic(finding, document.positions) for finding in findings if finding.file == document.name]

    def publish_soon(self, skill: Path) -> None:
        """Lint a skill once nothing is typed for a moment."""
        if skill in self.pending:
            self.pending[skill].cancel()
        self.pending[skill] = asyncio.get_running_loop().call_later(QUIET_SECONDS, self.publish, skill)

    def valued(self, document: OpenDocument) -> ValuedText | None:
        """The text beside the last run of the skill; None where there is no run, or the text is no skill."""
        values = find_values(document.skill, self.runs)
        if values is None:
            return None
        try:
            texts = self.texts(document.skill)
            compiled = compile_open(self.read(document), texts, compile_options(values.settings))
        except SkillSVError:
            return None
        return compare_with_run(compiled, values)


def make_server(runs: Sequence[Path] = ()) -> LanguageServer:
    """The server. `runs` are run folders in other places than `.skillsv` above a skill."""
    # Whole texts: pygls applies partial changes by lines that also end at form feeds and U+2028.
    server = LanguageServer("skillsv", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    state = SkillServer(server, runs)
    _add_document_events(server, state)

    def on_unit_request(uri: str, answer: Callable[[OpenDocument, ValuedText], object], none: object = None) -> object:
        document = state.document(uri)
        text = None if document is None else state.valued(document)
        return none if document is None or text is None else answer(document, text)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hints(params: types.InlayHintParams) -> object:
        lines = _lines(params.range)
        return on_unit_request(params.text_document.uri, lambda document, text: _hints(document, text, lines), [])

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> object:
        line = params.position.line
        return on_unit_request(params.text_document.uri, lambda document, text: _hover(document, text, line))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def code_actions(params: types.CodeActionParams) -> object:
        lines = _lines(params.range)
        return on_unit_request(
            params.text_document.uri,
            lambda document, text: [
                _code_action(deletion, document) for deletion in find_deletions(text, document.name, lines)
            ],
            [],
        )

    return server


def _add_document_events(server: LanguageServer, state: SkillServer) -> None:
    """Lint when a document is opened, changed, saved or closed."""

    def reread(uri: str) -> None:
        document = state.document(uri)
        if document is not None:
            state.saved.pop(document.skill, None)
            state.publish(document.skill)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        state.opened.add(params.text_document.uri)
        reread(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def was_saved(params: types.DidSaveTextDocumentParams) -> None:
        reread(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = state.document(params.text_document.uri)
        if document is not None:
            state.publish_soon(document.skill)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        state.opened.discard(uri)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))
        path = _file_path(uri)
        skill = None if path is None else find_skill(path)
        if skill is not None:
            state.saved.pop(skill, None)
            state.publish(skill)


def _file_path(uri: str) -> Path | None:
    """The path of a document; None for one that is no file, such as `untitled:1`."""
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return None if name is None else Path(name)


def _diagnostic(finding: Finding, positions: Positions) -> types.Diagnostic:
    end = positions.line_end(finding.line - 1)
    return types.Diagnostic(
        range=_range(Position(end.line, 0), end),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        message=escape_line(finding.message),
    )


def _hints(document: OpenDocument, text: ValuedText, lines: Lines) -> list[types.InlayHint]:
    return [
        types.InlayHint(
            position=_position(document.positions.line_end(extent.lines.first - 1)),
            label=hint_label(valued, text),
            padding_left=True,
        )
        for valued, extent in text.in_file(document.name)
        if lines.first <= extent.lines.first <= lines.last
    ]


def _hover(document: OpenDocument, text: ValuedText, line: int) -> types.Hover | None:
    for valued, extent in text.in_file(document.name):
        if extent.lines.first <= line + 1 <= extent.lines.last:
            contents = types.MarkupContent(kind=types.MarkupKind.PlainText, value=hover_text(valued, text))
            return types.Hover(contents=contents, range=_span_range(document.positions, extent.span))
    return None


def _code_action(deletion: Deletion, document: OpenDocument) -> types.CodeAction:
    edit = types.TextEdit(range=_span_range(document.positions, deletion.span), new_text=deletion.text)
    return types.CodeAction(
        title=deletion.title,
        kind=types.CodeActionKind.QuickFix,
        edit=types.WorkspaceEdit(changes={document.uri: [edit]}),
    )


def _lines(given: types.Range) -> Lines:
    """The lines of a range, counted from 1."""
    return Lines(given.start.line + 1, given.end.line + 1)


def _span_range(positions: Positions, span: Span) -> types.Range:
    return _range(*positions.of_span(span))


def _range(start: Position, end: Position) -> types.Range:
    return types.Range(start=_position(start), end=_position(end))


def _position(position: Position) -> types.Position:
    return types.Position(line=position.line, character=position.column)
