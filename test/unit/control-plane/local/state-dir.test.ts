import { expect, test } from "vitest";
import { connectionTo, folderOfConnection } from "../../../../drivers/fake-libvirt/hypervisor.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";

test.each(["../../escape", "..", "a/b", "", "x\n"])("no path of the state directory comes from the name %j", (host) => {
  const directory = stateDir("/state", "/");
  for (const path of [directory.agent, directory.hypervisor, directory.log]) {
    expect(() => path(host)).toThrow(expect.objectContaining({ code: "InvalidHostName" }));
  }
});

test.each(["/tmp/%41", "/tmp/a b", "/tmp/é#?", "/tmp/100%", "/tmp/%zz"])(
  "the hypervisor of a host is below %s",
  (root) => {
    const { hypervisor, hypervisors } = stateDir(root, "/");
    expect(folderOfConnection(connectionTo(hypervisor("devstack1")))).toBe(`${root}/hypervisors/devstack1`);
    expect(hypervisors).toBe(`${root}/hypervisors`);
  },
);
