"""A file that asks a run to stop."""

import anyio

from skillsv.rollout import RunFolder, Stop, read_stop_files, stop_on_file
from skillsv.rollout.run_folder import AGENTS, STOP


def test_a_new_file_asks_to_stop_and_is_removed_and_an_old_one_is_ignored(tmp_path):
    folder = RunFolder(tmp_path)
    folder.request_stop()
    levels = []

    async def watch():
        stop = Stop()
        looks = 0
        read_stop_files(stop, folder.stop_files())

        async def sleep(_seconds):
            nonlocal looks
            looks += 1
            levels.append(stop.level)
            if looks == 2:
                assert not (tmp_path / STOP).exists(), "a request from before the run is removed"
                folder.request_stop()
            if looks == 4:
                group.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(lambda: stop_on_file(stop, folder.stop_files, sleep=sleep))

    anyio.run(watch)
    assert levels == [0, 0, 1, 1]
    assert not (tmp_path / STOP).exists()


def test_a_request_in_the_folder_of_any_agent_stops_the_command(tmp_path):
    first, second = (tmp_path / AGENTS / name for name in ("first", "second"))
    for place in (first, second):
        place.mkdir(parents=True)
    stop = Stop()
    read_stop_files(stop, RunFolder(second).stop_files())
    RunFolder(first).request_stop()
    RunFolder(second).request_stop()
    read_stop_files(stop, RunFolder(second).stop_files())
    assert stop.level == 1
    assert not (first / STOP).exists()
