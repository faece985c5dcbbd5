"""The only room with SQL: server, schema, search and store."""
