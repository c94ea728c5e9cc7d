// What every client does with the server: list, create, get, search, a stale update, a capsule round.
import assert from "node:assert/strict";

export async function round(client) {
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, JSON.stringify(result));
    return result;
  };
  const { tools } = await client.listTools();
  assert.ok(tools.length > 30, `${tools.length} tools`);
  assert.ok(tools.every((tool) => tool.title && tool.outputSchema && tool.annotations));

  const place = { tree: "/share/clients", name: `n${process.pid}-${Date.now()}` };
  const created = await call("me_memory_create", { content: "the heron waits", meta: { n: 1 }, ...place });
  const memory = created.structuredContent;
  const got = await call("me_memory_get", { id: memory.id });
  assert.deepEqual(got.structuredContent, memory);
  assert.match(got.content[0].text, /^content: the heron waits$/m);
  const found = await call("me_memory_search", { fulltext: "heron", tree: "/share/clients" });
  assert.ok(found.structuredContent.results.some((result) => result.id === memory.id));
  assert.equal(found.content[1].type, "resource_link");
  const read = await client.readResource({ uri: `memory://default/share/clients/${place.name}` });
  assert.equal(read.contents[0].text, "the heron waits");
  await call("me_memory_update", { id: memory.id, version_hash: memory.versionHash, content: "it flew" });
  const stale = await client.callTool({
    name: "me_memory_update",
    arguments: { id: memory.id, version_hash: memory.versionHash, content: "too late" },
  });
  assert.equal(stale.isError, true);
  assert.match(stale.content[0].text, /stale[^]*HINT: /);
  assert.equal(stale._meta.error.code, "CONFLICT");

  const ingested = await call("memory_ingest", {
    content: `Herons nest in March ${place.name}.`, source: "field-notes", anchor: "notes.md:1", project_id: "clients",
  });
  const id = JSON.stringify(ingested.structuredContent).match(/"(cap-\d+)"/)[1];
  const capsule = await call("memory_get", { id });
  assert.equal(capsule.structuredContent.label, "ADVISORY_NOT_AUTHORITY");
  const recalled = await call("memory_retrieve", { terms: ["herons", "march"], project_id: "clients" });
  assert.ok(JSON.stringify(recalled.structuredContent).includes(id));
  await assert.rejects(client.callTool({ name: "memory_get", arguments: { id: "cap-999999" } }), (error) => {
    // The newer revision has given this code another meaning; its data is the same.
    assert.ok([-32002, -32602].includes(error.code), String(error.code));
    assert.equal(error.data.kind, "unknown_capsule");
    assert.equal(error.data.id, "cap-999999");
    return true;
  });
  const malformed = await client.callTool({ name: "memory_get", arguments: { id: 7 } });
  assert.equal(malformed.isError, true);
}
