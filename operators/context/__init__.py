"""From ranked chunks to an attributed, budgeted context."""
