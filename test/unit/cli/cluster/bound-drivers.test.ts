import { expect, test } from "vitest";
import { withBoundDrivers } from "../../../../src/cli/cluster/host-settings.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const NOTHING = { configFiles: [] };

async function bound(records: Readonly<Record<string, string>>, savedSettings: Parameters<typeof withBoundDrivers>[2]) {
  const { files, runUntil } = createVirtualRuntime();
  for (const [host, text] of Object.entries(records)) {
    await runUntil(files.write(`/st/agents/${host}/compute_driver.${host}`, text));
  }
  return runUntil(withBoundDrivers(files, stateDir("/st", "/"), savedSettings));
}

test("a host whose driver was changed by hand is started with the driver that its agent recorded", async () => {
  const records = {
    devstack1: "other\n/other\n",
    devstack2: "fake-libvirt\nfake-libvirt\n",
    devstack3: "mine\n/mine\n",
  };
  const savedSettings = {
    devstack1: { driver: "/mine", configFiles: ["/nova.conf"] },
    devstack2: { driver: "/mine", ...NOTHING },
    devstack3: NOTHING,
  };
  expect(await bound(records, savedSettings)).toEqual({
    devstack1: { driver: "/other", configFiles: ["/nova.conf"] },
    devstack2: { driver: "fake-libvirt", ...NOTHING },
    devstack3: { driver: "/mine", ...NOTHING },
  });
});

test("saved settings stay unchanged without a record, with an unreadable record, or with the driver of the configuration", async () => {
  const savedSettings = {
    devstack1: { driver: "/mine", ...NOTHING },
    devstack2: { driver: "/mine", ...NOTHING },
    devstack3: NOTHING,
  };
  expect(await bound({ devstack2: "\n", devstack3: "fake-libvirt\nfake-libvirt\n" }, savedSettings)).toEqual(
    savedSettings,
  );
});
