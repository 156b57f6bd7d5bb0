import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualLogger } from "../../../../src/simulation/virtual-logger.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import type { ImageMeta, SpawnOptions, WithoutBytes } from "../../../../src/virt/index.js";
import { contextOf, type HostContext } from "../../virt/fixtures.js";

export const IMAGE: ImageMeta = {
  id: "33333333-3333-4333-8333-333333333333",
  name: "cirros",
  diskFormat: "qcow2",
  containerFormat: "bare",
  minDisk: 0,
  minRam: 0,
  properties: {},
};

const nothing = { network: [], blockDevices: { rootDeviceName: "/dev/vda", localDisks: [], volumes: [] } };
export const SPAWN: WithoutBytes<SpawnOptions> = { ...nothing, image: IMAGE, allocations: {}, powerOn: true };
export const DESTROY = { ...nothing, destroyDisks: true };
export const KEEP_DISKS = { ...nothing, destroyDisks: false };

/** A folder for hypervisors, with agents on them. */
export interface Harness {
  readonly folder: string;
  readonly files: HostContext["files"];
  /** Log entries of all drivers. */
  readonly logs: { readonly level: string; readonly message: string }[];
  /** Returns a connected driver, wrapped as in the agent. */
  connect(config?: Readonly<Record<string, unknown>>, changes?: Partial<HostContext>): Promise<DriverHost>;
  close(): Promise<void>;
}

function createHarness(folder: string, context: HostContext, close: () => Promise<void>): Harness {
  const logs: { level: string; message: string }[] = [];
  const logger = createVirtualLogger((level, message) => void logs.push({ level, message }));
  const hosts: DriverHost[] = [];
  return {
    folder,
    files: context.files,
    logs,
    connect: async (config = {}, changes = {}) => {
      const connectionUri = `fake-libvirt://${folder}/hypervisors/devstack1`;
      const host = await createDriverHost(definition, {
        ...context,
        logger,
        config: { connectionUri, ...config },
        ...changes,
      });
      await host.initHost();
      hosts.push(host);
      return host;
    },
    close: async () => {
      for (const host of hosts) {
        await host.cleanupHost();
      }
      await close();
    },
  };
}

export async function createVirtualHarness(): Promise<Harness> {
  return createHarness("/lab", contextOf(createVirtualRuntime()), async () => {});
}

export async function createRealHarness(): Promise<Harness> {
  const folder = await mkdtemp(join(tmpdir(), "fake-libvirt-"));
  const runtime = createNodeRuntime({ logger: createVirtualLogger(() => {}) });
  return createHarness(folder, contextOf(runtime), async () => {
    await runtime.http.close();
    await rm(folder, { recursive: true, force: true });
  });
}

/** The file systems with which each behaviour is tested. */
export const HARNESSES = [
  ["virtual files", createVirtualHarness],
  ["real files", createRealHarness],
] as const;
