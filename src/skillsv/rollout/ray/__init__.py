"""Rollouts on a Ray cluster: agents and verifiers run on its nodes; policies, budget and ledger stay on the driver.

`engine.RayEngine` is the engine. Only `engine` and `cluster` import Ray (the extra `ray`), so import them only where
the settings name a cluster.
"""
