#!/usr/bin/env bash
# The Postgres part of the suite on a real Citus cluster: builds it, starts it, runs, stops it.
# CITUS_TOOLS is a folder with build.sh and cluster.sh; CITUS_ROOT keeps what was built.
set -euo pipefail
tools=${CITUS_TOOLS:-../shared/citus}
root=${CITUS_ROOT:-${TMPDIR:-/tmp}/crosscorpus-citus}
if [ ! -f "$tools/build.sh" ]; then
  echo "make test-citus: skipped, there are no sources of Citus at $tools (set CITUS_TOOLS)"
  exit 0
fi
python=$1
bin=$("$tools/build.sh" "$root" "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')")
"$tools/cluster.sh" "$bin" "$root/data" start
trap '"$tools/cluster.sh" "$bin" "$root/data" stop' EXIT
name=suite_$$
"$tools/cluster.sh" "$bin" "$root/data" newdb "$name" >/dev/null
export CROSSCORPUS_TEST_DSN="host=127.0.0.1 port=55400 user=postgres dbname=$name"
owner=$([ "$(id -u)" = 0 ] && echo "runuser -u postgres --" || true)
export CLUSTER_KILL="head -1 '$root/data/'\$1/postmaster.pid | xargs kill -9; sleep .2"
# what the killed server left may still be going away
export CLUSTER_START="for n in 1 2 3 4 5 6 7 8 9; do
  $owner '$bin/pg_ctl' -D '$root/data/'\$1 -w start >/dev/null 2>&1 && exit 0; sleep .5; done; exit 1"
"$python" -m pytest -q -n 0 tests/citus
# One process: the tests name their collections by number. The embedded server has its own tests.
# Then again, with every collection in four shards.
"$python" -m pytest -q -n 0 tests/operators/postgres --ignore tests/operators/postgres/server
"$tools/cluster.sh" "$bin" "$root/data" newdb "${name}_shards" >/dev/null
CROSSCORPUS_TEST_DSN="${CROSSCORPUS_TEST_DSN}_shards" CROSSCORPUS_TEST_SHARDS=4 \
  "$python" -m pytest -q -n 0 tests/operators/postgres --ignore tests/operators/postgres/server
