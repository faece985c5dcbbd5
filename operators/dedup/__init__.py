"""Near-duplicate removal: one representative of each group stays."""
