import type { DomainStoreDeps } from "../../drivers/fake-libvirt/domain-store.js";
import type { Files } from "../../src/runtime/files.js";
import type { VirtualDisk } from "../../src/simulation/virtual-disk.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";

/**
 * The doors of somebody who looks on before a driver is called: he knows at once what files have, however slow the disk is. Else
 * the call would wait for him, and be judged by records that have changed since it was made, or be none, as its caller has died.
 */
export function createObserverDeps({ clock, logger, files }: VirtualRuntime, disk: VirtualDisk): DomainStoreDeps {
  const atOnce: Pick<Files, "list" | "stat" | "readIfPresent"> = {
    list: async (path) => disk.list(path),
    stat: async (path) => disk.stat(path),
    readIfPresent: async (path) => disk.read(path),
  };
  return { clock, logger, files: Object.assign(Object.create(files) as Files, atOnce) };
}
