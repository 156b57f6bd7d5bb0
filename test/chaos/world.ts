import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { type StateDir, stateDir } from "../../src/control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { Client, type CloudName } from "./client.js";
import { ControlPlane } from "./control-plane.js";
import type { Dice } from "./dice.js";
import { Host } from "./host.js";
import { Journal } from "./journal.js";
import type { ChaosOptions } from "./options.js";
import type { ServerRequest } from "./oracle/requests.js";
import type { Violation } from "./violation.js";

/** A control plane and agents as real processes, with their own state directory. */
export class World {
  readonly directory: StateDir;
  readonly runtime: Runtime = createNodeRuntime({ logger: quietLogger });
  readonly journal: Journal;
  readonly controlPlane: ControlPlane;
  readonly hosts: readonly Host[];
  readonly #without: readonly string[];
  /** Violations at run time: processes that ended unexpectedly, responses of 500 and above. */
  readonly violations: Violation[] = [];
  /** Requests about servers in order of their responses. */
  readonly requests: ServerRequest[] = [];

  constructor(options: ChaosOptions, dice: Dice) {
    this.directory = stateDir(mkdtempSync(join(tmpdir(), "compute-agent-chaos-")), process.cwd());
    this.journal = new Journal(join(this.directory.root, "chaos.log"));
    this.#without = options.without;
    this.controlPlane = new ControlPlane(this.directory, this.journal);
    const parts = {
      directory: this.directory,
      runtime: this.runtime,
      journal: this.journal,
      onUnexplained: (host: string, what: string) =>
        void this.violations.push({ subject: host, what: `${host}: ${what}` }),
    };
    this.hosts = Array.from({ length: options.hosts }, (_, index) => {
      const name = `devstack${index + 1}`;
      // The last two hosts share their disks.
      const shared = index >= options.hosts - 2 ? [`fake_libvirt.instances_path=${this.directory.root}/shared`] : [];
      return new Host(name, [...agentOptions(options, dice.of(name)), ...shared], parts);
    });
  }

  async start(): Promise<void> {
    await this.controlPlane.start();
    await Promise.all(this.hosts.map((host) => host.start().serves()));
  }

  client(who: string, cloud: CloudName): Client {
    return new Client(who, cloud, {
      stateDir: this.directory.root,
      journal: this.journal,
      without: this.#without,
      onFailure: (what) => void this.violations.push({ subject: what, what }),
      onRequest: (request) => void this.requests.push(request),
    });
  }

  /** Ends all processes, and removes the state directory unless `keep` is set. */
  async dispose({ keep }: { readonly keep: boolean }): Promise<void> {
    await Promise.all([this.controlPlane.kill(), ...this.hosts.map((host) => host.kill())]);
    this.saveLogs();
    await this.runtime.http.close();
    if (!keep) {
      await rm(this.directory.root, { recursive: true, force: true });
    }
  }

  saveLogs(): void {
    this.controlPlane.saveLog();
    for (const host of this.hosts) {
      host.saveLog();
    }
  }
}

/** Max seconds of the driver's work. Hosts have different values, so that operations overlap in different ways. */
const SLOWEST = {
  delay_spawn: 1.5,
  delay_destroy: 0.5,
  delay_power_on: 0.4,
  delay_power_off: 0.4,
  delay_reboot: 0.4,
  delay_snapshot: 0.8,
  delay_migrate_disk: 1,
  delay_finish_migration: 1,
  delay_confirm_migration: 0.6,
  delay_revert_migration: 0.6,
  delay_pre_live_migration: 0.5,
  delay_live_migration: 3,
} as const;

function agentOptions({ reconcile }: ChaosOptions, dice: Dice): string[] {
  return [
    "report_interval=1",
    "update_resources_interval=2",
    "periodic_fuzzy_delay=0",
    "sync_power_state_interval=3",
    "running_deleted_instance_poll_interval=3",
    "instance_delete_interval=3",
    "shelved_poll_interval=3",
    `shelved_offload_time=${dice.pick([0, -1, 4])}`,
    "allow_resize_to_same_host=true",
    "max_concurrent_live_migrations=2",
    "fake_libvirt.stop_event_delay=1",
    ...(reconcile ? ["compute.reconcile_allocations=repair", "compute.reconcile_interval=3"] : []),
    ...Object.entries(SLOWEST).map(([option, most]) => `fake_libvirt.${option}=${dice.between(0, most * 10) / 10}`),
  ];
}
