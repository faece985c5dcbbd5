"""A collection as a folder of Parquet files, for another server, a backup or another program."""
