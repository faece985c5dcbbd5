"""Why a passage has its rank: the scores and weights behind it, and its disposition."""
