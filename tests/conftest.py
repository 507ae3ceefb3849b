"""Fixtures of all tests: an empty configuration folder, so that the settings of the developer have no effect."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _empty_configuration(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
