"""What all tests share: a configuration folder of their own, so that the settings of whoever runs them do not count."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
