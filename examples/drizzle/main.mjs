// Memories from Node with Drizzle over node-postgres. DATABASE_URL says where.
import assert from "node:assert/strict";
import { and, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, integer, jsonb, pgSchema, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import pg from "pg";

// The view me.memories. existing(): migrations leave it alone.
const memories = pgSchema("me")
  .view("memories", {
    space: text(),
    id: uuid(),
    tree: text(),
    name: text(),
    content: text(),
    meta: jsonb(),
    version: bigint({ mode: "number" }),
    versionHash: text("version_hash"),
    createdAt: timestamp("created_at", { withTimezone: true }),
  })
  .existing();

const tickets = pgTable("tickets", {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  title: text().notNull(),
  memoryId: uuid("memory_id"),
});

// me.NAME(argument => value, …) as an expression. Objects become jsonb, arrays arrays.
function me(name, args) {
  const parts = Object.entries(args).map(([key, value]) => {
    const plain = value === null || typeof value !== "object" || Array.isArray(value);
    return sql`${sql.identifier(key)} => ${plain ? sql.param(value) : sql`${JSON.stringify(value)}::jsonb`}`;
  });
  return sql`me.${sql.identifier(name)}(${sql.join(parts, sql`, `)})`;
}

// Calls it by itself.
const call = async (db, name, args) => (await db.execute(sql`select ${me(name, args)} as answer`)).rows[0].answer;

// Drizzle wraps what the driver throws. The server's DETAIL is one JSON object.
async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return { sqlstate: error.cause.code, ...JSON.parse(error.cause.detail) };
  }
  assert.fail("had to be refused");
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const db = drizzle(pool);
await db.execute(
  sql`create table tickets (id int generated always as identity primary key, title text not null, memory_id uuid)`,
);

const made = await call(db, "memory_create", {
  content: "Deploys happen on Tuesdays.",
  tree: "share/app",
  name: "deploy-day",
  meta: { topic: "deploy", priority: 5 },
});
const [got] = await db
  .select()
  .from(memories)
  .where(and(eq(memories.tree, "/share/app"), eq(memories.name, "deploy-day")));
assert.equal(got.id, made.id);
assert.equal(got.meta.priority, 5);
assert.ok(got.createdAt instanceof Date);

// me.search as a subquery with types, to select from and to join with.
const found = db
  .select({
    id: sql`id`.mapWith(memories.id).as("found_id"),
    score: sql`score`.mapWith(Number).as("score"),
  })
  .from(me("search", { fulltext: "deploys", meta: { topic: "deploy" }, limit: 5 }))
  .as("found");
const rows = await db
  .select({ id: found.id, score: found.score, version: memories.version })
  .from(found)
  .innerJoin(memories, eq(memories.id, found.id))
  .orderBy(desc(found.score));
assert.deepEqual(rows.map((row) => [row.id, row.version]), [[made.id, 1]]);

// A name that is taken.
const taken = await refused(call(db, "memory_create", { content: "Other.", tree: "share/app", name: "deploy-day" }));
assert.equal(taken.sqlstate, "23505");
assert.equal(taken.code, "CONFLICT");
assert.equal(taken.reason, "path");

// A version that somebody else has changed meanwhile: read, merge, try again.
const update = (version_hash) =>
  call(db, "memory_update", { id: made.id, version_hash, content: "Deploys happen on Wednesdays." });
const stale = await refused(update("0".repeat(32)));
assert.equal(stale.sqlstate, "55000");
assert.equal(stale.reason, "version");
assert.equal((await update(stale.versionHash)).version, 2);

// One transaction for a row of one's own and a memory: both or neither.
const openTicket = (tx, title) =>
  tx.insert(tickets).values({
    title,
    memoryId: sql`(${me("memory_create", { content: title, tree: "share/app/tickets" })} ->> 'id')::uuid`,
  });
await db.transaction((tx) => openTicket(tx, "The pump leaks."));
await db
  .transaction(async (tx) => {
    await openTicket(tx, "Never seen.");
    tx.rollback();
  })
  .catch((error) => assert.equal(error.constructor.name, "TransactionRollbackError"));

await pool.end();
console.log("ok");
