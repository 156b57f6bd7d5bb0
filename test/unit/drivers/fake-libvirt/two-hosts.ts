import type { DriverHost } from "../../../../src/virt/driver-host.js";
import type { LiveMigrationProgress } from "../../../../src/virt/index.js";
import { type HostContext, instanceOf, NO_DEVICES, UUID } from "../../virt/fixtures.js";
import type { Harness } from "./fixtures.js";

/** The instance before (`small`) and after (`large`) a resize. */
export const small = instanceOf({
  ephemeralGb: 1,
  rootGb: 10,
  flavor: { ...instanceOf().flavor, rootGb: 10, ephemeralGb: 1 },
});
export const large = instanceOf({
  ephemeralGb: 2,
  rootGb: 20,
  memoryMb: 4096,
  vcpus: 4,
  flavor: { ...small.flavor, id: 2, name: "m1.large", vcpus: 4, memoryMb: 4096, rootGb: 20, ephemeralGb: 2 },
});

const HOSTS = ["devstack1", "devstack2"] as const;
type HostName = (typeof HOSTS)[number];

type Connecting = Readonly<Record<string, unknown>> & { readonly shared?: boolean };

/** Connects an agent's driver to one of the harness's hypervisors. */
export function connect(
  harness: Harness,
  host: HostName,
  { shared = false, ...config }: Connecting = {},
  changes: Partial<HostContext> = {},
): Promise<DriverHost> {
  return harness.connect(
    {
      connectionUri: `fake-libvirt://${harness.folder}/hypervisors/${host}`,
      ...(shared ? { instancesPath: `${harness.folder}/nfs` } : {}),
      ...config,
    },
    { host, ...changes },
  );
}

/** Returns the states of guests and all files in the folders of both hypervisors. */
export async function lookAt(harness: Harness, shared: boolean) {
  const state = async (host: HostName) => {
    const folder = `${harness.folder}/hypervisors/${host}`;
    if (!(await harness.files.stat(`${folder}/domains/${UUID}.xml`))) {
      return undefined;
    }
    return (await harness.files.readIfPresent(`${folder}/state/${UUID}`))?.trim() ?? "shutoff";
  };
  const files = async (host: HostName) => {
    const folder = `${harness.folder}/hypervisors/${host}`;
    const there: string[] = [];
    const roots = ["domains", "state", "migrations", "instances"].map((name) => `${folder}/${name}`);
    for (const root of [...roots, ...(shared ? [`${harness.folder}/nfs`] : [])]) {
      for (const name of await harness.files.list(root)) {
        there.push(`${root.split("/").at(-1)}/${name}`);
      }
    }
    return there;
  };
  const [source, destination] = [await state("devstack1"), await state("devstack2")];
  return {
    source,
    destination,
    running: [source, destination].filter((each) => each === "running").length,
    sourceFiles: await files("devstack1"),
    destinationFiles: await files("devstack2"),
  };
}

export function PROGRESS_OF(memoryMb: number, done: number): Partial<LiveMigrationProgress> {
  return {
    memoryTotal: memoryMb * 1024 ** 2,
    memoryProcessed: memoryMb * 1024 ** 2 * done,
    memoryRemaining: memoryMb * 1024 ** 2 * (1 - done),
  };
}

export const REVERT = { ...NO_DEVICES, migration: null, powerOn: true } as const;
