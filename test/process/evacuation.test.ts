import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";

const M1_TINY = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

describe("a host dies, its guest is evacuated, the host comes back", () => {
  let cloud: LocalCloud;
  let operator: Operator;
  const hypervisor = (host: string) => join(cloud.stateDir, "hypervisors", host);

  beforeEach(async () => {
    cloud = await LocalCloud.start();
    operator = new Operator(cloud);
  });
  afterEach(() => cloud.dispose());

  it.each([
    { title: "the guest still on its hypervisor", wiped: false },
    { title: "the hypervisor wiped in between", wiped: true },
  ])("cleans up after itself, with $title", async ({ wiped }) => {
    const hosts = ["devstack1", "devstack2"];
    const [first] = await Promise.all(hosts.map((host) => cloud.startAgent(host)));
    const vm1 = await operator.boot("vm1", { host: "devstack1" });
    await operator.serverIn(vm1, "ACTIVE");
    const domain = join(hypervisor("devstack1"), "domains", `${vm1}.xml`);
    expect(await exists(domain)).toBe(true);

    await first?.kill();
    expect(await operator.forceDown("devstack1", true)).toBe(200);
    await operator.evacuate(vm1, "devstack2");
    const evacuated = await operator.serverIn(vm1, "ACTIVE");
    expect(evacuated["OS-EXT-SRV-ATTR:host"]).toBe("devstack2");
    expect(await operator.held(vm1, hosts)).toEqual({ devstack1: M1_TINY, devstack2: M1_TINY });
    expect(await operator.migrations(vm1)).toMatchObject([{ status: "done", migration_type: "evacuation" }]);
    const before = { one: await operator.provider("devstack1"), two: await operator.provider("devstack2") };

    // forced_down cannot be lifted before the cleanup of the evacuation.
    expect(await operator.forceDown("devstack1", false)).toBe(400);
    if (wiped) {
      await rm(hypervisor("devstack1"), { recursive: true });
    }
    await cloud.startAgent("devstack1");

    expect(await exists(domain)).toBe(false);
    expect(await exists(join(hypervisor("devstack2"), "domains", `${vm1}.xml`))).toBe(true);
    expect(await operator.held(vm1, hosts)).toEqual({ devstack2: M1_TINY });
    expect(await operator.migrations(vm1)).toMatchObject([{ status: "completed" }]);
    // The rewrite increments the generation of the provider that keeps allocations, not of the other one.
    expect((await operator.provider("devstack1")).generation).toBe(before.one.generation);
    expect((await operator.provider("devstack2")).generation).toBe(before.two.generation + 1);
    expect(await operator.forceDown("devstack1", false)).toBe(200);
  });
});
