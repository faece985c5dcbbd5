"""The only place with SQL: server, schema, search and store."""
