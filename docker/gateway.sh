#!/bin/bash
# Run once, after the extension was made: the role as which the MCP server looks up the holders of API keys.
set -euo pipefail
psql -X -q -v ON_ERROR_STOP=1 -v password="$GATEWAY_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'EOF'
create role mcp_gateway login password :'password';
select me.gateway_add('mcp_gateway');
grant execute on function me.api_key_authenticate to mcp_gateway;
EOF
