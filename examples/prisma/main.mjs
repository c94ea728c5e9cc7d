// Memories from Node with Prisma. DATABASE_URL says where; first `prisma generate`.
//
// sql/*.sql are queries as TypedSQL takes them: with `previewFeatures = ["typedSql"]` and the database up,
// `prisma generate --sql` makes functions of them. That needs an engine which Prisma downloads; so that this runs
// without, it reads the files itself.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PrismaPg } from "@prisma/adapter-pg";
import generated from "./generated/index.js";

const { PrismaClient } = generated;
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });

const query = (db, file, ...args) =>
  db.$queryRawUnsafe(readFileSync(new URL(`sql/${file}.sql`, import.meta.url), "utf8"), ...args);
const call = async (db, file, ...args) => (await query(db, file, ...args))[0].answer;

await prisma.$executeRaw`create table tickets (id serial primary key, title text not null, memory_id uuid)`;
const made = await call(prisma, "createMemory", "Deploys happen on Tuesdays.", "share/app", "deploy-day", {
  topic: "deploy",
  priority: 5,
});
const got = await prisma.memory.findFirstOrThrow({ where: { tree: "/share/app", name: "deploy-day" } });
assert.equal(got.id, made.id);
assert.equal(got.meta.priority, 5);
assert.equal(await prisma.memory.count({ where: { meta: { path: ["topic"], equals: "deploy" } } }), 1);

const found = await query(prisma, "searchMemories", "deploys", { topic: "deploy" });
assert.deepEqual(found.map((row) => row.id), [made.id]);

// The answer of the server as the driver saw it. Of a taken name or id (23505) Prisma keeps the sentence alone, of all
// else the DETAIL too, which is one JSON object.
async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.code, "P2010");
    const { cause } = error.meta.driverAdapterError;
    return { sqlstate: cause.originalCode, message: cause.originalMessage, ...JSON.parse(cause.detail ?? "{}") };
  }
  assert.fail("had to be refused");
}

// A name that is taken.
const taken = await refused(call(prisma, "createMemory", "Other.", "share/app", "deploy-day", null));
assert.equal(taken.sqlstate, "23505");
assert.match(taken.message, /share\/app\/deploy-day/);

// A version that somebody else has changed meanwhile: read, merge, try again.
const update = (versionHash) => call(prisma, "updateMemory", made.id, versionHash, "Deploys happen on Wednesdays.");
const stale = await refused(update("0".repeat(32)));
assert.equal(stale.sqlstate, "55000");
assert.equal(stale.reason, "version");
assert.equal((await update(stale.versionHash)).version, 2);

// One transaction for a row of one's own and a memory: both or neither.
async function openTicket(tx, title) {
  const { id } = await call(tx, "createMemory", title, "share/app/tickets", null, null);
  await tx.ticket.create({ data: { title, memoryId: id } });
}
await prisma.$transaction((tx) => openTicket(tx, "The pump leaks."));
await prisma
  .$transaction(async (tx) => {
    await openTicket(tx, "Never seen.");
    throw new Error("changed my mind");
  })
  .catch((error) => assert.equal(error.message, "changed my mind"));

await prisma.$disconnect();
console.log("ok");
