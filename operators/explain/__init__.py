"""Why a passage is where it is: the numbers behind its place, and its disposition."""
