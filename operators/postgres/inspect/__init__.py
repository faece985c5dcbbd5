"""Looking at a collection: its state, its soundness, its versions."""
