"""A driver that stays warm, asked by agents over MCP and by apps over HTTP."""
