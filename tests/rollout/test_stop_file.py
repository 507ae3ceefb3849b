"""A file that asks a run to stop."""

import anyio

from skillsv.rollout import RunFolder, Stop, stop_on_file
from skillsv.rollout.run_folder import STOP


def test_a_new_file_asks_to_stop_and_is_removed_and_an_old_one_is_ignored(tmp_path):
    folder = RunFolder(tmp_path)
    folder.request_stop()
    levels = []

    async def watch():
        stop = Stop()
        looks = 0

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
            group.start_soon(lambda: stop_on_file(stop, tmp_path / STOP, sleep=sleep))

    anyio.run(watch)
    assert levels == [0, 0, 1, 1]
    assert not (tmp_path / STOP).exists()
