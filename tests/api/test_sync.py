"""Plain functions while an event loop runs: Ctrl-C ends the run and keeps its rollouts."""

import asyncio
import signal
import sys
import threading

import pytest

import skillsv as sv
from skillsv.api.sync import run_sync
from skillsv.errors import Interrupted


def in_running_loop(function):
    """Call a plain function in a cell of a notebook: a loop runs, and Ctrl-C raises KeyboardInterrupt."""

    async def cell():
        return function()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(cell())
    finally:
        loop.close()


def test_an_interrupt_ends_the_run_and_keeps_its_rollouts(skill, tasks, tmp_path):
    paid = []

    def answer(skill, task):
        paid.append(task.id)
        if len(paid) == 60:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return "yes" if skill and task.input in skill.text else "no"

    def value():
        return sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", version="1", jobs=1)

    run = in_running_loop(value)
    before = len(paid)
    assert isinstance(run.error, Interrupted)
    assert run.valuation.provisional
    assert before < 200
    again = in_running_loop(value)
    assert again.complete
    assert again.valuation.rollouts.spent == len(paid) - before


def test_an_exception_reaches_the_caller():
    async def work(stop):
        raise ValueError("reason")

    with pytest.raises(ValueError, match="reason"):
        in_running_loop(lambda: run_sync(work))


def test_the_run_sees_no_error_that_is_being_handled():
    async def work(stop):
        return sys.exc_info()

    assert run_sync(work) == (None, None, None)
