import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Program } from "../../process/support/program.js";
import { hasPeer } from "./control-plane.js";
import { useRealNova } from "./use-real-nova.js";
import { idle } from "./waiting.js";

const HOST = "story1";
/** A flavor with all of the host's resources, and one with more memory. */
const SMALL = { id: "max-small", name: "max.small", ram: 1_024, disk: 1, vcpus: 2 };
const LARGE = { id: "max-large", name: "max.large", ram: 2_048, disk: 1, vcpus: 2 };
const HELD = {
  small: { VCPU: 2, MEMORY_MB: 1_024, DISK_GB: 1 },
  large: { VCPU: 2, MEMORY_MB: 2_048, DISK_GB: 1 },
};

/** Only one host is up, so a resize can only go to the same host. */
describe.skipIf(!hasPeer)("one small host", () => {
  const cloud = useRealNova();
  let agent: Program;
  beforeAll(async () => {
    const nova = cloud();
    for (const flavor of [SMALL, LARGE]) {
      await nova.compute("POST", "/flavors", { flavor });
    }
    agent = await nova.startAgent(HOST, { options: ["fake_libvirt.vcpus=2"] });
    await nova.discover();
  });
  afterAll(async () => {
    await agent?.stop();
    await cloud().retire(HOST);
  });

  it("a second agent with the same hypervisor does not start, and changes nothing", async () => {
    const nova = cloud();
    const id = await nova.operator.boot("guarded", { host: HOST });
    await idle(nova, id, "ACTIVE");
    const before = await nova.guests(HOST);
    const uri = `fake_libvirt.connection_uri=fake-libvirt://${nova.hypervisor(HOST)}`;
    const standBy = await nova.startAgent("backup1", { options: [uri], wait: false });
    expect((await standBy.exited).code).toBe(3);
    expect(standBy.stderr).toContain(HOST);
    expect(await nova.guests(HOST)).toBe(before);
    expect(await nova.operator.service("backup1")).toEqual({});
    expect((await nova.placement("GET", "/resource_providers?name=backup1")).body.resource_providers).toEqual([]);
    await nova.remove(id);
  });

  it("--check reports that a new host can start and a served host cannot, and changes nothing", async () => {
    const nova = cloud();
    const checks = ["broker", "conductor", "placement", "service", "hypervisor", "identity", "provider"];
    const found = Object.fromEntries(checks.map((check) => [check, "ok"]));
    expect(await nova.check("checked1")).toEqual({ code: 0, ...found, lease: "ok" });
    expect(await nova.check(HOST)).toEqual({ code: 3, ...found, lease: "fails" });
    expect(await nova.operator.service("checked1")).toEqual({});
    expect((await nova.plane.shell("rabbitctl list_queues name")).output).not.toMatch(/checked1/);
    await expect(readdir(nova.hypervisor("checked1"))).rejects.toThrow(/ENOENT/);
  });

  it.each([
    ["confirmed", { confirmResize: null }, HELD.large],
    ["reverted", { revertResize: null }, HELD.small],
  ])("a same-host resize of a server that uses all of max_unit is %s", async (_end, body, held) => {
    const nova = cloud();
    const { uuid } = await nova.operator.provider(HOST);
    const { body: inventories } = await nova.placement("GET", `/resource_providers/${uuid}/inventories`);
    expect(Number(inventories.inventories?.VCPU?.max_unit)).toBe(SMALL.vcpus);
    const id = await nova.operator.boot("at-max-unit", { host: HOST, flavor: SMALL.id });
    await idle(nova, id, "ACTIVE");
    await nova.act(id, { resize: { flavorRef: LARGE.id } });
    await idle(nova, id, "VERIFY_RESIZE");
    const [migration] = await nova.operator.migrations(id);
    expect(await nova.operator.held(id, [HOST])).toEqual({ [HOST]: HELD.large });
    expect(await nova.operator.held(String(migration?.uuid), [HOST])).toEqual({ [HOST]: HELD.small });
    await nova.act(id, body);
    await idle(nova, id, "ACTIVE");
    await expect.poll(() => nova.operator.held(id, [HOST]), { timeout: 20_000 }).toEqual({ [HOST]: held });
    expect(await nova.operator.held(String(migration?.uuid), [HOST])).toEqual({});
    await nova.remove(id);
  });
});
