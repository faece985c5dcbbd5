"""How it happens: functions over Polars frames, and their readers and stores; nothing here knows Hamilton."""
