"""The small model of the tests in this folder, and a server of it. A module names what else it needs in `PACKAGES`."""

import importlib.util

import pytest

from skillsv.agents.local_server import LocalServer, find_gguf
from skillsv.errors import SettingsError


@pytest.fixture(scope="module")
def weights(request):
    for package in ("xllamacpp", *request.module.PACKAGES):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    try:
        return find_gguf()
    except SettingsError as trouble:
        pytest.skip(str(trouble))


@pytest.fixture(scope="module")
def server(weights):
    with LocalServer(weights) as running:
        yield running
