// The official TypeScript client, first line: node typescript-v1.mjs stdio PROGRAM | http URL KEY
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { round } from "./round.mjs";

const [kind, where, key] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: where, env: { MEMORY_ENGINE_URL: process.env.MEMORY_ENGINE_URL } })
    : new StreamableHTTPClientTransport(new URL(where), {
        requestInit: { headers: { Authorization: `Bearer ${key}` } },
      });
const client = new Client({ name: "test", version: "0" });
await client.connect(transport);
await round(client);
await client.close();
