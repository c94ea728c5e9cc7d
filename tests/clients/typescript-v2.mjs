// The official TypeScript client, second line, which speaks both revisions of the protocol:
// node typescript-v2.mjs REVISION stdio PROGRAM | http URL KEY
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { round } from "./round.mjs";

const [revision, kind, where, key] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: where, env: { MEMORY_ENGINE_URL: process.env.MEMORY_ENGINE_URL } })
    : new StreamableHTTPClientTransport(new URL(where), {
        requestInit: { headers: { Authorization: `Bearer ${key}` } },
      });
const mode = revision === "2026-07-28" ? { pin: revision } : "legacy";
const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
await client.connect(transport);
assert.equal(client.getNegotiatedProtocolVersion(), revision);
await round(client);
await client.close();
