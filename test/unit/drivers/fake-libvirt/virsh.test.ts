import { expect, it } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { Virsh } from "../../../../drivers/fake-libvirt/virsh.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import { contextOf, instanceOf, UUID } from "../../virt/fixtures.js";
import { SPAWN } from "./fixtures.js";

const DOMAIN = "instance-0000002a";

it("undefine removes only a domain that is shut off, with virsh's messages", async () => {
  const runtime = createVirtualRuntime();
  const config = { connectionUri: "fake-libvirt:///h" };
  const host = await createDriverHost(definition, contextOf(runtime, { config, files: runtime.files }));
  await host.initHost();
  await host.spawn(instanceOf(), SPAWN);
  const virsh = new Virsh("fake-libvirt:///h", runtime);
  await expect(virsh.undefine(DOMAIN)).rejects.toThrow(
    /^Failed to undefine domain 'instance-0000002a'\nerror: Requested operation is not valid: .* running/,
  );
  await expect(virsh.undefine("nobody")).rejects.toThrow("failed to get domain 'nobody'");
  await virsh.destroy(DOMAIN);
  expect(await virsh.undefine(DOMAIN)).toBe(UUID);
  expect(await virsh.list({ all: true })).toEqual([]);
  expect(await host.listInstanceUuids()).toEqual([]);
  await host.cleanupHost();
});

it("reports a missing hypervisor instead of an empty list", async () => {
  const virsh = new Virsh("fake-libvirt:///nowhere", createVirtualRuntime());
  await expect(virsh.list()).rejects.toThrow(
    "failed to connect to the hypervisor: there is no hypervisor at fake-libvirt:///nowhere",
  );
});
