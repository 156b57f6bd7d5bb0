import { describe, expect, test } from "vitest";
import {
  consoleOutput,
  diagnostics,
  hostUptime,
  instanceDiagnostics,
} from "../../../../src/agent/lifecycle/guest-reports.js";
import type { HostSession } from "../../../../src/conductor-client/port.js";
import { GuestNotFound, type Instance } from "../../../../src/virt/index.js";
import { hostOf, instanceOf, UUID } from "../../virt/fixtures.js";

const request = { instanceUuid: UUID, requestId: "req-1" };
const COUNTED = {
  driver: "libvirt",
  hypervisor: "qemu",
  hypervisorOs: "linux",
  uptime: 7,
  configDrive: false,
  memoryDetails: { maximum: 512, used: null },
  cpuDetails: [],
  nicDetails: [],
  diskDetails: [],
} as const;

/** Creates a host whose driver has these methods, and whose conductor knows this instance. */
async function servicesWith(driver: object, instance: Instance | null = instanceOf({ host: "devstack1" })) {
  const { host } = await hostOf({ getInfo: async () => ({ state: 1 }), ...driver });
  const conductor = { call: async () => instance } as unknown as HostSession;
  return { driver: host, conductor, host: "devstack1" };
}

describe("6.10 the console of a guest", () => {
  const written = "one\ntwo\nthree\n";
  const readConsole = async (tailLength: number | null) =>
    consoleOutput(await servicesWith({ getConsoleOutput: async () => written }), { ...request, tailLength });

  test("is shown as a whole, or its last lines as Nova counts them", async () => {
    expect(await readConsole(null)).toBe(written);
    expect(await readConsole(2)).toBe("three\n");
    expect(await readConsole(100)).toBe(written);
    expect(await readConsole(0)).toBe("");
    expect(await readConsole(-1)).toBe("two\nthree\n");
  });

  test("is the end of it, at most 100 KiB", async () => {
    const services = await servicesWith({ getConsoleOutput: async () => `${"x".repeat(200_000)}end` });
    const output = await consoleOutput(services, { ...request, tailLength: null });
    expect(output).toHaveLength(102_400);
    expect(output).toMatch(/end$/);
  });

  test("of a guest that is gone, or has moved, is not found", async () => {
    const gone = () => Promise.reject(new GuestNotFound("no such guest"));
    const params = { ...request, tailLength: null };
    for (const services of [
      await servicesWith({ getConsoleOutput: gone }),
      await servicesWith({ getConsoleOutput: async () => written }, null),
      await servicesWith({ getConsoleOutput: async () => written }, instanceOf({ host: "devstack2" })),
    ]) {
      await expect(consoleOutput(services, params)).rejects.toMatchObject({ code: "InstanceNotFound" });
    }
  });
});

describe("6.10 diagnostics of a guest", () => {
  const methods = { getDiagnostics: async () => ({ memory: 5 }), getInstanceDiagnostics: async () => COUNTED };

  test("are what the driver counts, with the guest's state in the form of all drivers", async () => {
    const services = await servicesWith(methods);
    expect(await diagnostics(services, request)).toEqual({ memory: 5 });
    expect(await instanceDiagnostics(services, request)).toEqual({ ...COUNTED, state: "running" });
  });

  test("are of guests that run", async () => {
    const services = await servicesWith({ ...methods, getInfo: async () => ({ state: 4 }) });
    const error = await diagnostics(services, request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "InstanceInvalidState" });
    expect(error).toMatchObject({ data: { attr: "power state", state: "shutdown", instance_uuid: UUID } });
    await expect(instanceDiagnostics(services, request)).rejects.toMatchObject({ code: "InstanceInvalidState" });
  });
});

test("6.10 what a driver leaves out is not implemented", async () => {
  const services = await servicesWith({});
  await expect(hostUptime(services)).rejects.toMatchObject({ code: "NotImplementedError" });
  await expect(consoleOutput(services, { ...request, tailLength: null })).rejects.toMatchObject({
    code: "NotImplementedError",
  });
  await expect(diagnostics(services, request)).rejects.toMatchObject({ code: "NotImplementedError" });
  await expect(instanceDiagnostics(services, request)).rejects.toMatchObject({ code: "NotImplementedError" });
});
