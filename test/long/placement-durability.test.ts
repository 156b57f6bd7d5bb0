import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONSUMERS, held, Ledger, PROVIDERS, populate, usage, WRITERS, write } from "./placement-load.js";
import { PlacementClient, PlacementServer } from "./placement-server.js";

const KILLS = 4;
/** Number of acknowledged writes after which the server is killed. */
const WRITES_BEFORE_KILL = 60;

describe("kill -9 under load", () => {
  let folder = "";
  let server: PlacementServer | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "placement-"));
  });

  afterEach(async () => {
    await server?.program.kill();
    await rm(folder, { recursive: true, force: true });
  });

  it("preserves every acknowledged write, and no partial one", async () => {
    const start = () => PlacementServer.start("--database", join(folder, "placement.sqlite"));
    const ledger = new Ledger();
    server = await start();
    await withClient(server.url, populate);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await writeUntilKilled(server, ledger, (kill + 1) * WRITES_BEFORE_KILL, kill);
      server = await start();
      await withClient(server.url, (client) => verify(client, ledger));
    }
    expect(ledger.surprises).toEqual([]);
  });
});

async function withClient(url: string, work: (client: PlacementClient) => Promise<void>): Promise<void> {
  const client = new PlacementClient(url);
  try {
    await work(client);
  } finally {
    client.close();
  }
}

/** Starts all writers, and kills the server while they write. */
async function writeUntilKilled(server: PlacementServer, ledger: Ledger, writes: number, round: number): Promise<void> {
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    write(server.url, ledger, round * WRITERS + writer, 100_000),
  );
  const ends = Promise.allSettled(writers);
  const client = new PlacementClient(server.url);
  while (ledger.acknowledged < writes) {
    await client.send("GET", "/");
  }
  client.close();
  await server.program.kill();
  const outcomes = await ends;
  expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
}

async function verify(client: PlacementClient, ledger: Ledger): Promise<void> {
  const total: Record<string, number> = Object.fromEntries(PROVIDERS.map((uuid) => [uuid, 0]));
  for (const consumer of CONSUMERS) {
    const { generation, amounts } = await held(client, consumer);
    const own = ledger.writes.filter((each) => each.consumer === consumer);
    const acknowledged = own.filter((each) => each.acknowledged).map((each) => (each.generation ?? 0) + 1);
    expect(generation ?? 0).toBeGreaterThanOrEqual(Math.max(0, ...acknowledged));
    if (generation !== null) {
      // The state was written completely: by the acknowledged write, or by one whose response was lost.
      const candidates = own.filter((each) => (each.generation ?? 0) + 1 === generation);
      const winner = candidates.find((each) => each.acknowledged);
      expect(winner === undefined ? candidates.map((each) => each.amounts) : [winner.amounts]).toContainEqual(amounts);
    }
    for (const [uuid, amount] of Object.entries(amounts)) {
      total[uuid] = (total[uuid] ?? 0) + amount;
    }
  }
  for (const uuid of PROVIDERS) {
    expect(await usage(client, uuid)).toBe(total[uuid]);
  }
}
