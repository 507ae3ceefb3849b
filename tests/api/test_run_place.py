import gc
from pathlib import Path

import pytest

from skillsv.api.run_place import TEMPORARY, choose_place
from skillsv.errors import OutputError


def test_the_named_folder_comes_before_the_usual_one(tmp_path):
    usual = tmp_path / "usual"
    assert choose_place(None, "faq", tmp_path / "named", lambda _: usual).folder.path == tmp_path / "named"
    assert choose_place(None, "faq", None, lambda name: usual / name).folder.path == usual / "faq"


def test_without_a_folder_the_place_is_temporary_and_goes_with_its_object():
    place = choose_place(None, "a/b c", None, None)
    path = place.folder.path
    assert place.notes == (TEMPORARY,)
    assert "/" not in path.name
    parent = path.parent
    assert parent.is_dir()
    del place
    gc.collect()
    assert not parent.exists()


def test_a_folder_of_the_user_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds other files"):
        choose_place(Path("skill"), "faq", tmp_path, None)
