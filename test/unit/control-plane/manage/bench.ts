import { operatorMethods } from "../../../../src/control-plane/conductor/methods/operator-methods.js";
import { recordMethods } from "../../../../src/control-plane/conductor/methods/record-methods.js";
import { audit } from "../../../../src/control-plane/manage/audit.js";
import { healAllocations } from "../../../../src/control-plane/manage/heal-allocations.js";
import { ironicNodeMove, type ManageParts, runCommand } from "../../../../src/control-plane/manage/nova-manage.js";
import { mirrorAggregates, syncAggregates } from "../../../../src/control-plane/manage/sync-aggregates.js";
import { createFixedAccess } from "../../../../src/placement-client/access/configured-access.js";
import { PlacementHttp } from "../../../../src/placement-client/placement-http.js";
import type { Instance, Migration, MigrationStatus, MigrationType } from "../../../../src/records/index.js";
import type { Outcome } from "../../../fixtures/golden-manage.js";
import { NO_PORT_ALLOCATIONS } from "../../../fixtures/no-port-resources.js";
import { ENDPOINT } from "../../placement-client/bench.js";
import { ConductorBench, NEED } from "../conductor/tasks/bench.js";

type Options<Command extends (parts: ManageParts, options: never) => unknown> = Partial<Parameters<Command>[1]>;

/** A control plane's store and Placement, hosts without agents, and nova-manage's commands on them. */
export class ManageBench {
  readonly conductor: ConductorBench;
  readonly quirks = new Set<string>();
  /** Hooks that run before the next call of a conductor method is handled. */
  readonly before = new Map<string, () => Promise<void> | void>();
  /** The conductor methods that were called. */
  readonly calls: string[] = [];

  private constructor(conductor: ConductorBench) {
    this.conductor = conductor;
  }

  static async open(): Promise<ManageBench> {
    return new ManageBench(await ConductorBench.open());
  }

  /** Milliseconds that have passed for the conductor. */
  elapsed = 0;
  readonly clock = {
    now: () => this.placement.runtime.clock.now() + this.elapsed,
    monotonic: () => this.elapsed,
  };

  get store() {
    return this.conductor.store;
  }
  get placement() {
    return this.conductor.placementBench;
  }

  heal(options: Options<typeof healAllocations> = {}): Promise<Outcome> {
    const flags = { force: false, dryRun: false, verbose: true };
    return this.#run((parts) => healAllocations(parts, { ...flags, ...options }));
  }

  audit(options: Options<typeof audit> = {}): Promise<Outcome> {
    return this.#run((parts) => audit(parts, { delete: false, verbose: true, ...options }));
  }

  sync(options: Options<typeof syncAggregates> = {}): Promise<Outcome> {
    return this.#run((parts) => syncAggregates(parts, { verbose: true, ...options }));
  }

  /** Mirrors the host aggregates of these hosts to Placement. */
  async mirror(hosts: readonly string[]): Promise<readonly string[]> {
    let changed: readonly string[] = [];
    await this.#run(async (parts) => {
      changed = await mirrorAggregates(parts, new Set(hosts));
      return 0;
    });
    return changed;
  }

  moveNode(options: Options<typeof ironicNodeMove> = {}): Promise<Outcome> {
    return this.#run((parts) => ironicNodeMove(parts, options));
  }

  /** @returns the uuid of its provider */
  host(name: string): Promise<string> {
    return this.conductor.host(name);
  }

  server(host: string): Promise<Instance> {
    return this.conductor.server(host);
  }

  /** Creates a server in the state after an evacuation from `source` to `dest`: it has allocations on both. */
  async evacuated(source: string, dest: string): Promise<Instance> {
    const server = await this.server(dest);
    const held = await this.held(server.uuid);
    this.move(server.uuid, "evacuation", "done", source, dest);
    await this.put(server.uuid, { ...held, [source]: NEED });
    return server;
  }

  move(
    instanceUuid: string,
    migrationType: MigrationType,
    status: MigrationStatus,
    sourceCompute: string,
    destCompute: string,
  ): Migration {
    const destComputeId = this.store.computeNodes.byHost(destCompute)[0]?.id ?? 0;
    return this.store.migrations.create({
      instanceUuid,
      migrationType,
      status,
      changes: { sourceCompute, sourceNode: sourceCompute, destCompute, destNode: destCompute, destComputeId },
    });
  }

  /** Returns a consumer's allocations as amounts by host. */
  held(consumer: string): Promise<Record<string, unknown>> {
    return this.conductor.held(consumer);
  }

  /** Replaces the consumer's allocations by these amounts by host. */
  async put(consumer: string, amounts: Readonly<Record<string, unknown>>): Promise<void> {
    const { consumer_generation = null } = (await this.placement.ask("GET", `/allocations/${consumer}`, "1.28")) as {
      consumer_generation?: number;
    };
    const allocations = Object.entries(amounts).map(([host, resources]) => [this.provider(host), { resources }]);
    await this.placement.ask("PUT", `/allocations/${consumer}`, "1.28", {
      allocations: Object.fromEntries(allocations),
      project_id: "project",
      user_id: "user",
      consumer_generation,
    });
  }

  /** `openstack resource provider allocation delete` */
  async unset(consumer: string): Promise<void> {
    await this.placement.ask("DELETE", `/allocations/${consumer}`);
  }

  provider(host: string): string {
    return this.store.computeNodes.byHost(host)[0]?.uuid ?? host;
  }

  async #run(command: (parts: ManageParts) => Promise<number>): Promise<Outcome> {
    const lines: string[] = [];
    const print = (line: string): void => void lines.push(`${line}\n`);
    const { runtime, http } = this.placement;
    const table = new Map<string, (params: never, caller: never) => unknown>(
      Object.entries({ ...recordMethods(this.store), ...operatorMethods(this.store, this.clock, NO_PORT_ALLOCATIONS) }),
    );
    const parts: ManageParts = {
      conductor: {
        call: async (method, params) => {
          this.calls.push(method);
          const interfere = this.before.get(method);
          this.before.delete(method);
          await interfere?.();
          return (await table.get(method)?.(params as never, {} as never)) as never;
        },
      },
      placement: new PlacementHttp({
        http,
        clock: runtime.clock,
        access: createFixedAccess({ endpoint: `${ENDPOINT}/`, token: "admin" }),
        userAgent: "nova-manage",
      }),
      timers: { sleep: () => this.placement.asleep() },
      random: runtime.random,
      quirks: this.quirks,
      context: {},
      print,
    };
    const rc = await runCommand(print, () => command(parts));
    return { rc, stdout: lines.join("") };
  }
}
