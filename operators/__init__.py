"""How it happens: functions over Polars frames, readers and stores; nothing here knows Hamilton."""
