import { expect, test } from "vitest";
import { wrongInDiagnostics } from "../../../src/virt/value-checks.js";

const CPU = { id: 0, time: 17, utilisation: null };
const RIGHT = {
  driver: "libvirt",
  hypervisor: "qemu",
  hypervisorOs: null,
  uptime: 3,
  configDrive: false,
  memoryDetails: { maximum: 512, used: null },
  cpuDetails: [CPU],
  nicDetails: [],
  diskDetails: [],
};

test("8.14 valid diagnostics are accepted", () => {
  expect(wrongInDiagnostics(RIGHT)).toBeUndefined();
});

test.each([
  [{ driver: "mine" }, "driver", /one of libvirt, xenapi/],
  [{ hypervisor: undefined }, "hypervisor", /a string/],
  [{ uptime: 1.5 }, "uptime", /a whole number from -1, or null/],
  [{ configDrive: null }, "configDrive", /true or false/],
  [{ memory: 1 }, "memory", /no field of that name/],
  [{ memoryDetails: null }, "memoryDetails", /an object with maximum, used/],
  [{ memoryDetails: { maximum: 1 } }, "memoryDetails.used", /a whole number/],
  [{ cpuDetails: {} }, "cpuDetails", /a list/],
  [{ cpuDetails: [{ ...CPU, time: "1" }] }, "cpuDetails.time", /a whole number/],
  [{ cpuDetails: [{ ...CPU, Time: 1 }] }, "cpuDetails.Time", /no field of that name/],
  [{ diskDetails: [1] }, "diskDetails", /an object with readBytes/],
])("8.14 %o is wrong in %s", (changes, path, expected) => {
  expect(wrongInDiagnostics({ ...RIGHT, ...changes })).toMatchObject({
    path,
    expected: expect.stringMatching(expected),
  });
});
