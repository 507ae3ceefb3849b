"""Attacks on the time limit of a rollout by files that take long to search or to list."""

from dataclasses import replace

import anyio
import pytest

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

from skillsv.agents.model.tools import ListFiles, SearchFiles, _list, _search
from skillsv.agents.model.working_folder import WorkingFolder
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS

FILES = 400
"""Sparse files of 8 MB: no room on disk, and several seconds to search."""


@pytest.fixture
def folder(tmp_path):
    for number in range(FILES):
        with (tmp_path / f"file{number:03}").open("wb") as stream:
            stream.truncate(8 * 1024 * 1024)
    return tmp_path


class CountingFolder(WorkingFolder):
    reads = 0

    def read(self, path):
        CountingFolder.reads += 1
        return super().read(path)


def working_folder(path, seconds):
    CountingFolder.reads = 0
    return CountingFolder(path=path, limits=replace(SANDBOX_LIMITS, seconds=seconds), sandbox=True)


def test_search_in_large_files_stops_at_its_time_limit(folder):
    (folder / "a-first").write_text("a needle\n")
    result = anyio.run(_search, working_folder(folder, 0.3), SearchFiles(text="needle"))
    assert result == "a-first:1: a needle\n[stopped after 0.3 s]"
    assert CountingFolder.reads < FILES


def test_search_ends_when_the_rollout_is_cancelled(folder):
    async def run():
        with anyio.move_on_after(0.3) as rollout:
            await _search(working_folder(folder, 600.0), SearchFiles(text="needle"))
        return rollout.cancelled_caught

    assert anyio.run(run)
    assert CountingFolder.reads < FILES


def test_endless_list_of_files_stops_at_its_time_limit(tmp_path):
    class EndlessFolder(WorkingFolder):
        def files(self, below):
            while True:
                yield below / "again"

    limits = replace(SANDBOX_LIMITS, seconds=0.1)
    result = anyio.run(_list, EndlessFolder(path=tmp_path, limits=limits, sandbox=True), ListFiles())
    assert result.endswith("[stopped after 0.1 s]")


def test_search_within_the_time_limit_is_complete(tmp_path):
    (tmp_path / "a").write_text("x\nneedle one\n")
    (tmp_path / "b").write_text("NEEDLE two\n")
    result = anyio.run(_search, working_folder(tmp_path, 60.0), SearchFiles(text="needle"))
    assert result == "a:2: needle one\nb:1: NEEDLE two"
