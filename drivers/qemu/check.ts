import { join } from "node:path";
import type {
  CanaryGuest,
  CanaryPlace,
  CheckDoors,
  CheckPlace,
  DriverCheckOptions,
  SweptPlace,
} from "../../src/testing/index.js";
import { compileQemuConfig } from "./config.js";
import { parsed } from "./identity.js";
import { Layout } from "./layout.js";
import { type Execute, Monitors } from "./monitor.js";
import { RECORD } from "./runs.js";
import { awaitNextReport, storeInGuest, writeTalkingImage } from "./talking-guest.js";

const IMAGE = "7a1c0000-0000-4000-8000-000000000001";

/** How the driver is held against the contract: with guests that keep what is typed into them. */
export const check: DriverCheckOptions = {
  config: (place) => ({ folder: folderOf(place), imagesPath: imagesIn(place), waitSoftRebootSeconds: 5 }),
  image: { id: IMAGE },
  flavor: { memoryMb: 64 },
  largerFlavor: { memoryMb: 96 },
  prepare: (deps, folder) => writeTalkingImage(join(imagesIn({ folder }), `${IMAGE}.raw`), deps),
  canary: { ...place("disk"), memory: place("memory") },
  sweep,
};

function place(keeper: "disk" | "memory"): CanaryPlace {
  return {
    write: (guest, text) => {
      const { deps } = guest;
      return withMonitor(guest, (execute) => storeInGuest(keeper, text, execute, { console: consoleOf(guest), deps }));
    },
    read: async (guest) => (await awaitNextReport(consoleOf(guest), guest.deps))[keeper],
  };
}

const folderOf = ({ host, folder }: CheckPlace): string => join(folder, "qemu", host);
const imagesIn = ({ folder }: Pick<CheckPlace, "folder">): string => join(folder, "images");
const layoutOf = ({ config }: CanaryGuest): Layout => new Layout(compileQemuConfig(config));
const consoleOf = (guest: CanaryGuest): string => layoutOf(guest).console(guest.instance.uuid);

async function withMonitor(guest: CanaryGuest, work: (execute: Execute) => Promise<void>): Promise<void> {
  const { deps, instance } = guest;
  const record = await deps.files.read(join(layoutOf(guest).run(instance.uuid), RECORD));
  const qemu = parsed(record) as { readonly pid: number; readonly started: string };
  await new Monitors(deps.sockets, deps.timers).use({ ...qemu, uuid: instance.uuid }, work);
}

/** Ends each QEMU that a record in the folder of a check still names. */
async function sweep({ folder, deps }: SweptPlace): Promise<readonly string[]> {
  const found = await Promise.all(
    (await deps.files.list(join(folder, "qemu"))).map((host) => sweepHost(folderOf({ host, folder }), deps)),
  );
  return found.flat();
}

async function sweepHost(folder: string, { files, processes }: CheckDoors): Promise<readonly string[]> {
  const swept: string[] = [];
  const { runs } = new Layout({ folder, instancesPath: null, imagesPath: null });
  for (const name of await files.list(runs)) {
    const record = parsed((await files.readIfPresent(join(runs, name, RECORD))) ?? "");
    const { pid, started } = (record ?? {}) as { readonly pid?: number; readonly started?: string };
    if (pid !== undefined && started !== undefined && (await processes.signal({ pid, started }, "SIGKILL"))) {
      swept.push(`QEMU ${pid} of guest ${name}`);
    }
  }
  return swept;
}
