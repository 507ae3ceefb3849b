"""A cluster of three Ray nodes on this machine, started once for all tests that need one."""

import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

QUICK_DEATHS = {
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 4000,
    "health_check_failure_threshold": 3,
}
"""A node that does not answer is given up after seconds, not after the usual minute."""


@pytest.fixture(scope="session")
def cluster():
    pytest.importorskip("ray", reason="needs the extra `ray`")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    source = FOLDER.parents[2] / "src"  # the tested sources, even where another copy is installed
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (FOLDER, FOLDER.parent, source)))  # workers import from there
    head = {"num_cpus": 2, "include_dashboard": False, "_system_config": QUICK_DEATHS}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=2)
    cluster.add_node(num_cpus=2)
    yield cluster
    cluster.shutdown()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
