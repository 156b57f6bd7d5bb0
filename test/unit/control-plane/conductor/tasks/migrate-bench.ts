import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { Instance, Migration } from "../../../../../src/records/index.js";
import { ConductorBench, FLAVOR } from "./bench.js";

export type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

interface MigrateOptions {
  readonly version?: number;
  readonly hosts?: readonly string[];
  readonly maxAttempts?: number;
}

/** A server on devstack1 with a requested migration, request `req-migrate`. */
export class MigrateBench {
  readonly bench: ConductorBench;
  readonly instance: Instance;

  constructor(bench: ConductorBench, instance: Instance) {
    this.bench = bench;
    this.instance = instance;
    bench.store.instances.save(instance.uuid, { taskState: "resize_prep" });
    const { projectId, userId } = instance;
    const requestId = "req-migrate";
    bench.store.actions.start({ action: "migrate", instanceUuid: instance.uuid, requestId, userId, projectId });
  }

  static async open({ version, hosts, maxAttempts }: MigrateOptions = {}): Promise<MigrateBench> {
    const bench = await ConductorBench.open(maxAttempts === undefined ? {} : { maxAttempts });
    for (const host of hosts ?? ["devstack1", "devstack2"]) {
      await bench.host(host, version === undefined ? {} : { version });
    }
    return new MigrateBench(bench, await bench.server("devstack1"));
  }

  task(more: Partial<MigrateTask> = {}): MigrateTask {
    return {
      kind: "migrate_server",
      instanceUuid: this.instance.uuid,
      requestId: "req-migrate",
      flavor: FLAVOR,
      host: null,
      ...more,
    };
  }

  migrations(): Migration[] {
    return this.bench.store.migrations.byFilters({ instanceUuid: this.instance.uuid });
  }

  onlyMigration(): Migration {
    const [migration, ...more] = this.migrations();
    if (migration === undefined || more.length > 0) {
      throw new Error(`one migration was expected, ${migration === undefined ? 0 : more.length + 1} found`);
    }
    return migration;
  }

  /** Returns the allocations of instance and migration. */
  async held() {
    const { uuid } = this.instance;
    return {
      instance: await this.bench.held(uuid),
      migration: await this.bench.held(this.migrations()[0]?.uuid ?? uuid.replace(/.$/, "x")),
    };
  }

  state() {
    const { vmState, taskState, host } = this.bench.instance(this.instance.uuid);
    return { vmState, taskState, host, status: this.migrations().at(-1)?.status };
  }
}

/** A server whose migration failed before any change. */
export const UNCHANGED = { vmState: "active", taskState: null, host: "devstack1", status: "error" };
