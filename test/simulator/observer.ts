import type { DomainStoreDeps } from "../../drivers/fake-libvirt/domain-store.js";
import type { Files } from "../../src/runtime/files.js";
import type { VirtualDisk } from "../../src/simulation/virtual-disk.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";

/**
 * The dependencies of an observer that inspects files before a driver call. Its reads are immediate, however slow the
 * disk is.
 * Otherwise the call would wait for the observer: records could change meanwhile, or the caller could be killed before
 * the call.
 */
export function createObserverDeps({ clock, logger, files }: VirtualRuntime, disk: VirtualDisk): DomainStoreDeps {
  const atOnce: Pick<Files, "list" | "stat" | "readIfPresent"> = {
    list: async (path) => disk.list(path),
    stat: async (path) => disk.stat(path),
    readIfPresent: async (path) => disk.read(path),
  };
  return { clock, logger, files: Object.assign(Object.create(files) as Files, atOnce) };
}
