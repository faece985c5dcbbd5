"""The server: one warm driver for agents over MCP and apps over HTTP."""
