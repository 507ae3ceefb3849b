"""How much may be refunded without asking a manager, by kind of customer."""

LIMITS = {"standard": 50, "gold": 200}


def refund_limit(tier: str) -> int:
    """The limit in euros."""
    return LIMITS[tier]
