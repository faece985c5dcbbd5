"""The node of a Citus cluster that holds a collection without shards."""

import time

from operators.errors import CrosscorpusError
from operators.postgres.connection import check_nodes
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.tables import shards_of
from operators.postgres.store import Connection, Store

# Longer than a query takes, and than Citus's own cleanup after moves.
PATIENCE_S = 60


def move_collection(store: Store, node: str) -> None:
    """Move a collection to ``node`` (``HOST:PORT``); queries continue, an ingestion waits.

    Raises:
        CrosscorpusError: the server is no cluster, or has no such node (lists its nodes), or the
            collection is spread in shards over many nodes.
        DatabaseError: the node can't hold it, or the move failed; the collection stays in place.
    """
    if not store.clustered:
        raise CrosscorpusError(
            "this server is no Citus cluster, with nodes to move to: `crosscorpus collections "
            "export` and `import` carry a collection to another server"
        )

    def work(conn: Connection) -> None:
        rows = conn.execute(
            "SELECT nodename || ':' || nodeport, nodename, nodeport FROM pg_dist_node"
            " WHERE noderole = 'primary' AND isactive AND shouldhaveshards ORDER BY 1"
        ).fetchall()
        nodes = {row[0]: row[1:] for row in rows}
        if node not in nodes:
            raise CrosscorpusError(f"no node {node!r} in the cluster; there are {', '.join(nodes)}")
        if (shards := shards_of(conn, store.schema)) > 1:
            raise CrosscorpusError(
                f"collection {store.collection!r} is in {shards} shards on all nodes: after a node "
                "was added, have an administrator run SELECT citus_rebalance_start()"
            )
        held = conn.execute(
            "SELECT nodename || ':' || nodeport FROM citus_shards JOIN pg_class ON"
            " pg_class.oid = table_name WHERE relnamespace::regnamespace::text = quote_ident(%s)"
            " LIMIT 1",
            (store.schema,),
        ).fetchone()
        if held != (node,):
            check_nodes(conn, node)
            conn.execute(
                "SELECT citus_schema_move(%s::regnamespace, %s, %s, 'block_writes')",
                (f'"{store.schema}"', *nodes[node]),
            )

    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return store.run(work)
        except DatabaseError as error:
            # The last move left tables on this node that a query still reads.
            if "orphaned shard" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.5)
