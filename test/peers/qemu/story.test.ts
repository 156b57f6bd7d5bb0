import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NodePrograms } from "../../../src/runtime/node/node-processes.js";
import { LocalCloud } from "../../process/support/local-cloud.js";
import { Operator } from "../../process/support/operator.js";
import { Program } from "../../process/support/program.js";
import { countsOn, writeCountingImage } from "./support/counts.js";
import { missingQemu } from "./support/installed.js";

const missing = missingQemu();
const programs = new NodePrograms();
/** The image that every cloud has. */
const IMAGE = "c0ffee00-0000-4000-8000-000000000001";

describe.skipIf(missing !== null)(`compute-agent up --driver qemu${missing === null ? "" : ` (${missing})`}`, () => {
  let stateDir: string;
  let cluster: Program;
  let cloud: LocalCloud;
  let operator: Operator;
  const agents: Program[] = [];

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "qemu-story-"));
    await writeCountingImage(join(stateDir, "images", `${IMAGE}.raw`));
    const args = ["up", "--driver", "qemu", "--hosts", "2", "--port", "0", "--state-dir", stateDir];
    cluster = new Program("compute-cluster", args);
    await cluster.printed(/Ctrl-C stops all of it/);
    const url = cluster.stdout.match(/control-plane +ready +(\S+)/)?.[1] ?? "";
    cloud = LocalCloud.over(stateDir, url);
    operator = new Operator(cloud);
  });
  afterEach(async () => {
    for (const host of ["devstack1", "devstack2"]) {
      for (const guest of await guestsOn(host)) {
        const guestProcess = await programs.look(guest.pid);
        if (guestProcess?.argv.includes(guest.uuid)) {
          await programs.signal(guestProcess, "SIGKILL");
        }
      }
    }
    await Promise.all([cluster, ...agents.splice(0)].map((program) => program.stop()));
    await rm(stateDir, { recursive: true, force: true });
  });

  const folder = (host: string) => join(stateDir, "qemu", host);
  const consoleOn = (host: string, uuid: string) => join(folder(host), "instances", uuid, "console.log");

  /** Returns the guests whose QEMU has written its pid. */
  async function guestsOn(host: string): Promise<readonly { readonly uuid: string; readonly pid: number }[]> {
    const runs = join(folder(host), "run");
    const uuids = await readdir(runs).catch(() => []);
    // The guest may end at this moment.
    const pidIn = (uuid: string) => readFile(join(runs, uuid, "pid"), "utf8").catch(() => "");
    return Promise.all(uuids.map(async (uuid) => ({ uuid, pid: Number(await pidIn(uuid)) })));
  }

  const pidOf = (component: string): number =>
    Number([...cluster.stdout.matchAll(new RegExp(`${component} +(?:starting|ready) +pid (\\d+)`, "g"))].at(-1)?.[1]);

  async function booted(host: string) {
    const id = await operator.boot("vm1", { host });
    await operator.serverIn(id, "ACTIVE");
    const [guest] = await guestsOn(host);
    return { id, pid: guest?.pid ?? 0 };
  }

  test("a guest outlives its agent, is evacuated, and its old process ends when the host returns", async () => {
    const { id, pid } = await booted("devstack1");
    const before = await countsOn(consoleOn("devstack1", id));

    process.kill(pidOf("devstack1"), "SIGKILL");
    await cluster.printed(/devstack1 +killed +SIGKILL/);
    expect((await countsOn(consoleOn("devstack1", id))).memory, "it runs on").toBeGreaterThan(before.memory);
    expect(await operator.forceDown("devstack1", true)).toBe(200);
    await operator.evacuate(id, "devstack2");
    const evacuated = await operator.serverIn(id, "ACTIVE");
    expect(evacuated["OS-EXT-SRV-ATTR:host"]).toBe("devstack2");
    expect((await countsOn(consoleOn("devstack2", id))).memory).toBeGreaterThan(0);
    expect((await programs.look(pid))?.argv, "the old one knows nothing of it").toContain(id);

    const args = ["--host", "devstack1", "--compute-driver", "qemu", "--state-dir", stateDir];
    const returned = new Program("compute-agent", args);
    agents.push(returned);
    await returned.printed(/\bserving\b/);
    expect(await programs.look(pid), "no process of the stale guest").toBeUndefined();
    expect(await guestsOn("devstack1")).toEqual([]);
    expect(Object.keys(await operator.held(id, ["devstack1", "devstack2"]))).toEqual(["devstack2"]);
    expect((await countsOn(consoleOn("devstack2", id))).memory).toBeGreaterThan(0);
  });

  test("a guest is migrated live, then cold, and is deleted", async () => {
    const { id, pid } = await booted("devstack1");
    const before = await countsOn(consoleOn("devstack1", id), 10);
    const live = { "os-migrateLive": { host: "devstack2", block_migration: "auto" } };
    expect((await cloud.compute("POST", `/servers/${id}/action`, live)).status).toBe(202);
    await cloud.eventually(
      () => operator.server(id),
      (server) => String(server["OS-EXT-SRV-ATTR:host"]) === "devstack2" && String(server.status) === "ACTIVE",
    );
    const moved = await countsOn(consoleOn("devstack2", id));
    expect(moved.memory).toBeGreaterThan(before.memory);
    // The source ends its QEMU and removes its files after the destination has taken over the instance.
    await cloud.eventually(
      () => programs.look(pid),
      (process) => process === undefined,
    );
    await cloud.eventually(() => readdir(join(folder("devstack1"), "instances")), isEmpty);

    expect((await cloud.compute("POST", `/servers/${id}/action`, { migrate: {} })).status).toBe(202);
    await operator.serverIn(id, "VERIFY_RESIZE");
    expect((await cloud.compute("POST", `/servers/${id}/action`, { confirmResize: null })).status).toBe(204);
    await operator.serverIn(id, "ACTIVE");
    const back = await countsOn(consoleOn("devstack1", id));
    expect(back.disk).toBeGreaterThan(moved.disk);

    expect((await cloud.compute("DELETE", `/servers/${id}`)).status).toBe(204);
    await cloud.eventually(async () => [...(await guestsOn("devstack1")), ...(await guestsOn("devstack2"))], isEmpty);
    await cloud.eventually(() => readdir(join(folder("devstack1"), "instances")), isEmpty);
  });
});

const isEmpty = (list: readonly unknown[]): boolean => list.length === 0;
