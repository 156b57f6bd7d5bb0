import {
  createServiceDelete,
  type ServiceDeletePolicy,
} from "../../../../src/control-plane/conductor/service-delete.js";
import type { MigrationStatus, MigrationType } from "../../../../src/records/index.js";
import { ConductorBench, NEED } from "../../../unit/control-plane/conductor/tasks/bench.js";

/** A cluster with devstack1, whose service is deleted, and devstack2. */
export class ServiceDeleteBench {
  readonly conductor: ConductorBench;
  /** Uuids of the hosts' providers: source (devstack1) and destination (devstack2). */
  readonly s: string;
  readonly d: string;

  private constructor(conductor: ConductorBench, s: string, d: string) {
    this.conductor = conductor;
    this.s = s;
    this.d = d;
  }

  static async open(): Promise<ServiceDeleteBench> {
    const conductor = await ConductorBench.open();
    return new ServiceDeleteBench(conductor, await conductor.host("devstack1"), await conductor.host("devstack2"));
  }

  get store() {
    return this.conductor.store;
  }
  get placement() {
    return this.conductor.placementBench;
  }

  remove(policy: ServiceDeletePolicy, force = false): Promise<void> {
    const { store, placement, placementBench } = this.conductor;
    const run = createServiceDelete({ store, placement, policy, logger: placementBench.runtime.logger });
    return run(this.conductor.service("devstack1"), { force, requestId: "req-delete" });
  }

  get serviceIsGone(): boolean {
    return this.store.services.getByHost("devstack1", "nova-compute") === null;
  }

  /** Returns the names of all providers. */
  async providers(): Promise<readonly string[]> {
    const { resource_providers } = (await this.placement.ask("GET", "/resource_providers")) as {
      resource_providers: readonly { name: string }[];
    };
    return resource_providers.map(({ name }) => name).sort();
  }

  /** Returns the providers on which the consumer has allocations. */
  async held(consumer: string): Promise<readonly string[]> {
    const { allocations } = (await this.placement.ask("GET", `/allocations/${consumer}`)) as { allocations: object };
    return Object.keys(allocations).sort();
  }

  /** Adds allocations on these providers to the consumer's. */
  async claim(consumer: string, ...providers: readonly string[]): Promise<void> {
    const { allocations, consumer_generation = null } = (await this.placement.ask(
      "GET",
      `/allocations/${consumer}`,
      "1.28",
    )) as { allocations: object; consumer_generation?: number };
    await this.placement.ask("PUT", `/allocations/${consumer}`, "1.28", {
      allocations: { ...allocations, ...Object.fromEntries(providers.map((uuid) => [uuid, { resources: NEED }])) },
      project_id: "project",
      user_id: "user",
      consumer_generation,
    });
  }

  /** Creates an instance on devstack2, with a move from devstack1 in this status. */
  async moved(migrationType: MigrationType, status: MigrationStatus): Promise<{ i: string; m: string }> {
    const { uuid: i } = await this.conductor.server("devstack2");
    const { uuid: m } = this.store.migrations.create({
      instanceUuid: i,
      migrationType,
      status,
      changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2" },
    });
    return { i, m };
  }
}
