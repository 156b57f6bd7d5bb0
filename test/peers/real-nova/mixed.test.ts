import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../process/support/cloud.js";
import { hasPeer } from "./control-plane.js";
import { OC_HOSTS, ocOptions, withOcHosts, withPreferredHost } from "./oc-hosts.js";
import type { RealNova } from "./real-nova.js";
import { useRealNova } from "./use-real-nova.js";
import { hostsTried, idle } from "./waiting.js";

const TINY = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
const ALL = [...OC_HOSTS, "r1"];

/** A real nova-compute, r1, beside our agents. */
describe.skipIf(!hasPeer)("a real nova-compute beside this project's agents", () => {
  const cloud = useRealNova();
  const { agents } = withOcHosts(cloud);
  beforeAll(() => cloud().startCompute("r1"));
  // A service that a case left disabled would leave the next case without a host.
  afterEach(() => only(cloud(), ALL));
  afterAll(async () => {
    await cloud().killCompute("r1");
    await cloud().retire("r1");
  });

  /** Builds a server on this host. */
  async function boot(name: string, host: string, more: object = {}): Promise<string> {
    const nova = cloud();
    const imageRef = await nova.operator.image();
    const server = { name, flavorRef: "1", imageRef, networks: "none", host };
    const { body } = await nova.compute("POST", "/servers", { server, ...more });
    const id = String(body.server?.id);
    await idle(nova, id, "ACTIVE");
    return id;
  }
  async function expectOnlyOn(id: string, host: string): Promise<void> {
    const nova = cloud();
    expect(String((await nova.operator.server(id))["OS-EXT-SRV-ATTR:host"])).toBe(host);
    await expect.poll(() => nova.operator.held(id, ALL), { timeout: 20_000 }).toEqual({ [host]: TINY });
  }
  async function setRealFaults(faults: object): Promise<void> {
    const folder = cloud().statePath("r1");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "faults.json"), JSON.stringify(faults));
  }
  const logOfReal = () => readFile(join(cloud().plane.state, "log", "compute-r1.log"), "utf8");

  it.each([
    ["r1", "oc1"],
    ["oc1", "r1"],
  ])("M1: cold migrations from %s to %s are confirmed and reverted", async (source, dest) => {
    const nova = cloud();
    const id = await boot(`cold-${source}`, source);
    await nova.act(id, { migrate: { host: dest } });
    await idle(nova, id, "VERIFY_RESIZE");
    await nova.act(id, { revertResize: null });
    await idle(nova, id, "ACTIVE");
    await expectOnlyOn(id, source);
    await nova.act(id, { migrate: { host: dest } });
    await idle(nova, id, "VERIFY_RESIZE");
    const [newest] = (await nova.operator.migrations(id)).toSorted((a, b) => Number(b.id) - Number(a.id));
    const uuid = String(newest?.uuid);
    expect(await nova.operator.held(id, ALL)).toEqual({ [dest]: TINY });
    expect(await nova.operator.held(uuid, ALL)).toEqual({ [source]: TINY });
    await nova.act(id, { confirmResize: null });
    await idle(nova, id, "ACTIVE");
    await expectOnlyOn(id, dest);
    // Image metadata that our driver set for the guest's disks moved with the instance.
    const keys = await nova.plane.rows(
      `select m.key from nova_cell1.instance_system_metadata m where m.instance_uuid = '${id}' and m.deleted = 0`,
    );
    expect(keys.filter((key) => /^image_/.test(key))).not.toEqual([]);
    expect(keys.filter((key) => /^(old_vm_state|resize_disk_info)$/.test(key))).toEqual([]);
    await nova.remove(id);
    expect(complaints(await logOfReal())).toEqual([]);
  });

  it("M2: live migrations from r1 to oc1 and back", async () => {
    const nova = cloud();
    const id = await boot("live", "r1");
    for (const dest of ["oc1", "r1"]) {
      await nova.act(id, { "os-migrateLive": { host: dest, block_migration: "auto" } });
      await nova.migrationIn(id, "completed");
      await idle(nova, id, "ACTIVE");
      await expectOnlyOn(id, dest);
    }
    await nova.remove(id);
  });

  it("M3: each cleans up after an evacuation to the other", async () => {
    const nova = cloud();
    const [ofReal, ofOurs] = [await boot("from-r1", "r1"), await boot("from-oc1", "oc1")];
    await nova.killCompute("r1");
    await nova.operator.forceDown("r1", true);
    await nova.operator.evacuate(ofReal, "oc1");
    await nova.migrationIn(ofReal, "done");
    expect(await nova.operator.held(ofReal, ALL)).toEqual({ r1: TINY, oc1: TINY });
    await nova.startCompute("r1");
    await nova.migrationIn(ofReal, "completed");
    await expectOnlyOn(ofReal, "oc1");
    expect(await nova.operator.forceDown("r1", false)).toBe(200);

    await agents.get("oc1")?.kill();
    await nova.operator.forceDown("oc1", true);
    await nova.operator.evacuate(ofOurs, "r1");
    await nova.migrationIn(ofOurs, "done");
    expect(await nova.operator.held(ofOurs, ALL)).toEqual({ r1: TINY, oc1: TINY });
    agents.set("oc1", await nova.startAgent("oc1", { options: ocOptions("oc1") }));
    await nova.migrationIn(ofOurs, "completed");
    await expectOnlyOn(ofOurs, "r1");
    expect(await nova.guests("oc1")).not.toContain(ofOurs);
    expect(await nova.operator.forceDown("oc1", false)).toBe(200);
    await nova.remove(ofReal);
    await nova.remove(ofOurs);
  });

  it("M4: a build that fails on one is retried on the other", async () => {
    const nova = cloud();
    // The scheduler prefers the host with the most resources: r1 to oc1.
    await only(nova, ["r1", "oc1"]);
    await setRealFaults({ spawn: "fail" });
    const toOurs = await nova.operator.boot("to-oc1");
    await idle(nova, toOurs, "ACTIVE");
    await setRealFaults({});
    await expectOnlyOn(toOurs, "oc1");
    expect(await hostsTried(nova, toOurs)).toEqual(["oc1", "r1"]);

    await only(nova, ["r1"]);
    let toReal = "";
    await withPreferredHost(nova, "driver.spawn=fail:once", async () => {
      toReal = await nova.operator.boot("to-r1");
      await idle(nova, toReal, "ACTIVE");
    });
    await expectOnlyOn(toReal, "r1");
    expect(await hostsTried(nova, toReal)).toEqual(["big1", "r1"]);
    await nova.remove(toOurs);
    await nova.remove(toReal);
  });

  it("M5: shelved on r1, unshelved on oc1; anti-affinity holds over both", async () => {
    const nova = cloud();
    const id = await boot("shelved-r1", "r1");
    await nova.act(id, { shelve: null });
    await idle(nova, id, "SHELVED_OFFLOADED");
    await nova.act(id, { unshelve: { host: "oc1" } });
    await idle(nova, id, "ACTIVE");
    await expectOnlyOn(id, "oc1");
    await nova.remove(id);

    await only(nova, ["r1", "oc1"]);
    const made = await nova.compute("POST", "/os-server-groups", {
      server_group: { name: "apart", policy: "anti-affinity" },
    });
    const imageRef = await nova.operator.image();
    const members: string[] = [];
    for (const name of ["apart-1", "apart-2"]) {
      const server = { name, flavorRef: "1", imageRef, networks: "none" };
      const hints = { group: made.body.server_group?.id };
      const { body } = await nova.compute("POST", "/servers", { server, "os:scheduler_hints": hints });
      members.push(String(body.server?.id));
      await idle(nova, String(body.server?.id), "ACTIVE");
    }
    const hosts = await Promise.all(members.map((member) => nova.operator.server(member)));
    expect(hosts.map((server) => String(server["OS-EXT-SRV-ATTR:host"])).toSorted()).toEqual(["oc1", "r1"]);
    await Promise.all(members.map((member) => nova.remove(member)));
  });

  it("M6: a second agent of a host is rejected, a real nova-compute gets no messages, r1 keeps its host", async () => {
    const nova = cloud();
    const option = ["heartbeat_timeout_threshold=2"].map((text) => `oslo_messaging_rabbit.${text}`);
    const second = await nova.startAgent("oc1", { options: [...ocOptions("oc1"), ...option], wait: false });
    expect([3, 5]).toContain((await second.exited).code);
    const onReal = await nova.startAgent("r1", { options: option, wait: false });
    expect([3, 5]).toContain((await onReal.exited).code);
    expect(await nova.check("r1", option)).toMatchObject({ code: 3, lease: "fails" });
    await nova.spawnCompute("oc1");
    await eventually(
      () => readFile(join(nova.plane.state, "log", "compute-oc1.log"), "utf8").catch(() => ""),
      (log) => /ACCESS_REFUSED/.test(log),
    );
    const id = await boot("still-served", "oc1");
    expect(await nova.guests("oc1")).toContain(id);
    await nova.remove(id);
    await nova.killCompute("oc1");
  });
});
/**
 * Returns the failures in a nova-compute's log. Ignores that Nova's fake driver cannot tell whether storage is shared.
 */
function complaints(log: string): string[] {
  const failure = /nova\.compute\.manager .*Traceback|Exception during message handling: (?!NotImplementedError)/;
  return log.split("\n").filter((line) => failure.test(line));
}

/** Enables exactly these hosts. */
async function only(nova: RealNova, hosts: readonly string[]): Promise<void> {
  for (const host of ALL) {
    const { id, status: now } = await nova.operator.service(host);
    const status = hosts.includes(host) ? "enabled" : "disabled";
    if (String(now) !== status) {
      expect((await nova.compute("PUT", `/os-services/${id}`, { status })).status).toBe(200);
    }
  }
}
