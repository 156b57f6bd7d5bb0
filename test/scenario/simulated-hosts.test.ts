import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { drawPlan } from "../simulator/draw-plan.js";
import { Journal } from "../simulator/journal.js";
import { SimulatedCluster } from "../simulator/simulated-cluster.js";

let folder: string;
let cluster: SimulatedCluster;
let journal: Journal;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "simulated-hosts-"));
  const plan = drawPlan("7", 1_000, { hosts: 1, pace: 1_000, leftOut: 1, metal: 0 });
  cluster = new SimulatedCluster(plan, folder);
  journal = new Journal(cluster.world);
  await cluster.world.runUntil(cluster.open(journal));
});

afterEach(() => {
  cluster.close();
  rmSync(folder, { recursive: true });
});

test("two people who start a host's agent at once start one", async () => {
  const [host] = cluster.hosts;
  if (host === undefined) {
    throw new Error("the plan has no host");
  }
  host.agent?.runtime.kill();
  host.agent = null;
  const before = journal.lines.length;
  await cluster.world.runUntil(Promise.all([cluster.startAgent(host), cluster.startAgent(host)]));
  expect(host.serves).toBe(true);
  expect(journal.lines.slice(before).filter((line) => line.endsWith("starting"))).toHaveLength(1);
});

test("a host whose power goes while its agent connects can be started again", async () => {
  const [host] = cluster.hosts;
  if (host === undefined) {
    throw new Error("the plan has no host");
  }
  host.machine.losePower();
  host.agent = null;
  const start = cluster.startAgent(host);
  host.machine.losePower();
  await cluster.world.runUntil(start);
  expect(host.agent).toBeNull();
  await cluster.world.runUntil(cluster.startAgent(host));
  expect(host.serves).toBe(true);
});

test("a control plane whose start has failed does not keep the next one from what was committed", async () => {
  const hosts = () => cluster.store.services.list({ binary: "nova-compute" }).map(({ host }) => host);
  const before = hosts();
  expect(before).toHaveLength(1);
  const { disk } = cluster.world.machine;
  for (let times = 0; times < 3; times += 1) {
    cluster.killControlPlane();
    disk.setTrouble("/cluster", { full: true, slow: 0 });
    await expect(cluster.world.runUntil(cluster.startControlPlane())).rejects.toThrow("ENOSPC");
    disk.setTrouble("/cluster", null);
    await cluster.world.runUntil(cluster.startControlPlane());
    expect(hosts()).toEqual(before);
  }
});
