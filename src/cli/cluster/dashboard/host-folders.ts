import { join } from "node:path";
import { connectionTo } from "../../../../drivers/fake-libvirt/connection-uri.js";
import { Virsh } from "../../../../drivers/fake-libvirt/virsh.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { HostFolders } from "../../../dashboard/rows/guests.js";
import { readFaults } from "../../../faults/fault-file.js";
import { formatFaultRule } from "../../../faults/fault-rules.js";
import { isLive } from "../../../faults/fault-set.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";

/** What the folders of a fake-libvirt hypervisor that change with its guests are called. */
const GUESTS = ["domains", "state"];

/** The hosts of a state directory: fake-libvirt hypervisors, and faults that are set, whether their agents live or not. */
export function hostFolders(directory: StateDir, deps: Pick<Runtime, "files" | "clock" | "logger">): HostFolders {
  const { files, clock } = deps;
  /** One each, while it is watched: it keeps what it has read of guests that have not changed. */
  const hypervisors = new Map<string, Virsh>();
  return {
    read: async (host) => {
      const folder = directory.hypervisor(host);
      const has = (await files.stat(folder))?.kind === "folder";
      const virsh = hypervisors.get(host) ?? new Virsh(connectionTo(folder), deps);
      if (has) {
        hypervisors.set(host, virsh);
      } else {
        hypervisors.delete(host);
      }
      const rows = has ? await virsh.list({ all: true }) : undefined;
      const faults = await readFaults(directory.agent(host), AGENT_FAULTS, deps);
      return {
        guests: rows?.map(({ uuid, name, state }) => ({ uuid, name, state })),
        faults: faults.filter((fault) => isLive(fault, clock.now())).map(formatFaultRule),
      };
    },
    watch: (host, listener) => {
      const ends: (() => void)[] = [];
      const isFault = (names?: readonly string[]) => names?.every((name) => !name.startsWith("faults")) !== true;
      const watch = (folder: string, matters: (names?: readonly string[]) => boolean): void => {
        ends.push(files.watch(folder, (names) => matters(names) && listener()));
      };
      try {
        watch(directory.agent(host), isFault);
        for (const name of hypervisors.has(host) ? GUESTS : []) {
          watch(join(directory.hypervisor(host), name), () => true);
        }
      } catch (error) {
        for (const end of ends) {
          end();
        }
        throw error;
      }
      return () => {
        hypervisors.delete(host);
        for (const end of ends) {
          end();
        }
      };
    },
  };
}
