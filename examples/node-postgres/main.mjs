// Memories from Node with node-postgres (pg). DATABASE_URL says where.
import assert from "node:assert/strict";
import pg from "pg";

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();

// Calls a function with named arguments. pg sends objects as JSON and arrays as arrays, and parses the answer.
async function call(name, args) {
  const names = Object.keys(args).map((key, i) => `"${key}" => $${i + 1}`);
  const { rows } = await client.query(`select me.${name}(${names.join(", ")}) as answer`, Object.values(args));
  return rows[0].answer;
}

// What the server says to programs: the DETAIL is one JSON object.
async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return { sqlstate: error.code, ...JSON.parse(error.detail) };
  }
  assert.fail("had to be refused");
}

await client.query(
  "create table tickets (id int generated always as identity primary key, title text not null, memory_id uuid)",
);

const made = await call("memory_create", {
  content: "Deploys happen on Tuesdays.",
  tree: "share/app",
  name: "deploy-day",
  meta: { topic: "deploy", priority: 5 },
});
const got = await call("memory_get_by_path", { path: "share/app/deploy-day", select: ["id", "meta.priority"] });
assert.deepEqual(got, { id: made.id, meta: { priority: 5 } });

// me.search gives rows, for joins and for cursors of one's own.
const found = await client.query('select id, name, score from me.search(fulltext => $1, meta => $2, "limit" => 5)', [
  "deploys",
  { topic: "deploy" },
]);
assert.deepEqual(found.rows.map((row) => row.id), [made.id]);

// A name that is taken.
const taken = await refused(call("memory_create", { content: "Other.", tree: "share/app", name: "deploy-day" }));
assert.equal(taken.sqlstate, "23505");
assert.equal(taken.code, "CONFLICT");
assert.equal(taken.reason, "path");

// A version that somebody else has changed meanwhile: read, merge, try again.
const update = (version_hash) =>
  call("memory_update", { id: made.id, version_hash, content: "Deploys happen on Wednesdays." });
const stale = await refused(update("0".repeat(32)));
assert.equal(stale.sqlstate, "55000");
assert.equal(stale.reason, "version");
assert.equal((await update(stale.versionHash)).version, 2);

// One transaction for a row of one's own and a memory: both or neither.
async function openTicket(title) {
  const { id } = await call("memory_create", { content: title, tree: "share/app/tickets" });
  await client.query("insert into tickets (title, memory_id) values ($1, $2)", [title, id]);
}
await client.query("begin");
await openTicket("The pump leaks.");
await client.query("commit");
await client.query("begin");
await openTicket("Never seen.");
await client.query("rollback");

await client.end();
console.log("ok");
