import type { ConductorMethods } from "../../conductor/methods/conductor.js";
import type { ParamsOf } from "../../conductor/methods/method.js";
import type { PlacementPass } from "../../placement/pass.js";
import type { ProviderListing, RequestContext } from "../../placement/types.js";
import type {
  ComputeNode,
  Flavor,
  Instance,
  InstanceChanges,
  Migration,
  Service,
  TaskState,
} from "../../records/index.js";
import { FairLock } from "../../runtime/fair-lock.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import type { Allocations } from "../../virt/types.js";
import type { AgentContext } from "../context.js";
import { instanceClaim, rebuildClaim, updateQuietly } from "./claims.js";
import type { Claim, Moved, MoveWrite, ResourceTracker } from "./contract.js";
import { ComputeServiceInUse, ServiceNotUnique } from "./errors.js";
import { setHostEnabled } from "./host-status.js";
import { dropMoveClaimAtDestination, dropMoveClaimAtSource, saveMove } from "./move-writes.js";
import { runNodePass } from "./node-pass.js";
import { guardNode, runNodePasses } from "./node-passes.js";
import { BatchReader, SingleReader } from "./node-records.js";
import { readDisabled, updateNode } from "./node-update.js";
import { trackerOptions } from "./options.js";
import { forgetNodesWithoutRow, removeOrphans } from "./orphan-nodes.js";
import type { TrackerOptions, TrackerParts } from "./parts.js";
import { loadProviderConfigs, type ProviderConfig } from "./provider-config.js";
import { ProviderMerge } from "./provider-merge.js";
import { resizeClaim } from "./resize-claim.js";
import type { TrackedNode } from "./tracked-node.js";
import { countsMigration } from "./usage.js";

/**
 * The tracker of one agent. Loads provider.yaml, once.
 * @throws {ProviderConfigException} a file breaks a rule.
 */
export async function createResourceTracker(context: AgentContext): Promise<ResourceTracker> {
  const options = trackerOptions(context.config);
  const configs = await loadProviderConfigs(options.providerConfigLocation, {
    files: context.runtime.files,
    logger: context.runtime.logger,
  });
  return new NodeResourceTracker(context, options, configs);
}

type SavedInstance = NonNullable<ParamsOf<ConductorMethods, "save_together">["instance"]>;

/** Spec 4. What it knows lives in {@link TrackerParts}; what it does is in the files beside this one. */
export class NodeResourceTracker implements ResourceTracker {
  readonly #parts: TrackerParts;

  constructor(context: AgentContext, options: TrackerOptions, configs: readonly ProviderConfig[]) {
    this.#parts = {
      context,
      options,
      lock: new FairLock(),
      nodes: new Map(),
      merge: new ProviderMerge(configs, context.runtime.logger),
      binding: { serviceId: null, disabled: null, epoch: 0 },
    };
  }

  bindService(service: Service): void {
    const { context, binding } = this.#parts;
    if (service.host !== context.host) {
      throw new ServiceNotUnique(
        `the tracker of host ${context.host} was given the service of host ${service.host}: start one agent per host`,
      );
    }
    if (binding.serviceId !== null && binding.serviceId !== service.id) {
      throw new ComputeServiceInUse(
        `host ${context.host} is bound to service ${binding.serviceId} and was given service ${service.id}: ` +
          "the service was deleted and made again while this agent ran; restart the agent",
      );
    }
    binding.serviceId = service.id;
    binding.disabled = service.disabled;
  }

  async updateAvailableResource({ startup }: { readonly startup: boolean }): Promise<void> {
    const { context } = this.#parts;
    const request = { requestId: `req-${context.runtime.random.uuid()}` };
    const providers = this.#listProviders(request);
    const listed = await this.#listedNodes(); // 1
    if (!listed) {
      return;
    }
    const rows = await context.conductor.call("compute_nodes_by_host", { host: context.host }); // 2
    if (rows.length === 0 && listed.size > 0) {
      context.runtime.logger[startup ? "warn" : "error"]("the host has no compute node yet", { host: context.host });
    }
    await readDisabled(this.#parts);
    await this.#parts.lock.run(async () => {
      forgetNodesWithoutRow(this.#parts, rows); // 3
      await removeOrphans(this.#parts, rows, listed, request); // 4
    });
    const pass = await this.#beginPass(rows, listed, providers, request);
    const reader = listed.size > 1 ? new BatchReader(this.#parts) : new SingleReader(this.#parts);
    const failures = await runNodePasses(this.#parts, [...listed], { startup, reader, available: true, pass, request }); // 5
    if (failures === 0) {
      this.#parts.merge.endPass();
    }
  }

  async updateAvailableResourceForNode(node: string): Promise<void> {
    await readDisabled(this.#parts);
    const available = await this.#parts.context.driver.nodeIsAvailable(node);
    const request = { requestId: `req-${this.#parts.context.runtime.random.uuid()}` };
    const reader = new SingleReader(this.#parts);
    await guardNode(this.#parts, node, false, () =>
      runNodePass(this.#parts, node, { startup: false, reader, available, request }),
    );
  }

  async instanceClaim(instance: Instance, node: string, allocations: Allocations, requestId?: string): Promise<Claim> {
    return instanceClaim(this.#parts, instance, node, allocations, requestId);
  }

  async rebuildClaim(
    instance: Instance,
    node: string,
    migration: Migration,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim> {
    return rebuildClaim(this.#parts, instance, node, migration, allocations, requestId);
  }

  async finishEvacuation(
    instance: Instance,
    nodeName: string,
    migration: Migration,
    changes: InstanceChanges = {},
    expectedTaskState?: readonly (TaskState | null)[],
  ): Promise<Instance> {
    const expected = expectedTaskState ? { expectedTaskState: [...expectedTaskState] } : {};
    return this.#takeOver(instance, nodeName, changes, expected, {
      migration: { id: migration.id, changes: { status: "done" } },
    });
  }

  async finishLiveMigration(
    instance: Instance,
    node: string,
    changes: InstanceChanges,
    { source, taskState }: { readonly source: string | null; readonly taskState?: readonly (TaskState | null)[] },
  ): Promise<Instance> {
    const expected = { expectedHost: source, ...(taskState ? { expectedTaskState: [...taskState] } : {}) };
    return this.#takeOver(instance, node, changes, expected, {});
  }

  /** The instance is this node's from now on, and no move leads here any more. */
  async #takeOver(
    instance: Instance,
    nodeName: string,
    changes: InstanceChanges,
    expected: Pick<SavedInstance, "expectedHost" | "expectedTaskState">,
    migration: Pick<ParamsOf<ConductorMethods, "save_together">, "migration">,
  ): Promise<Instance> {
    const { lock, nodes, binding, context } = this.#parts;
    return lock.run(async () => {
      const node = nodes.get(nodeName);
      binding.epoch += 1;
      const saved = await context.conductor.call("save_together", {
        instance: {
          uuid: instance.uuid,
          changes: {
            ...changes,
            host: context.host,
            node: nodeName,
            computeId: node?.row.id ?? null,
            migrationContext: null,
          },
          ...expected,
        },
        ...migration,
      });
      const finished = saved.instance ?? instance;
      if (node) {
        node.account.forgetMigration(finished.uuid);
        node.account.countInstance(finished);
        await updateQuietly(this.#parts, node);
      }
      return finished;
    });
  }

  async updateUsage(instance: Instance, node: string): Promise<void> {
    const { lock, binding, nodes } = this.#parts;
    await lock.run(async () => {
      const tracked = nodes.get(node);
      if (!tracked) {
        return;
      }
      binding.epoch += 1;
      this.#count(instance, tracked);
      await readDisabled(this.#parts);
      await updateNode(this.#parts, tracked, { startup: false });
    });
  }

  async saveInstance(
    instance: Instance,
    changes: InstanceChanges,
    expectedTaskState?: readonly (TaskState | null)[],
  ): Promise<Instance> {
    const { lock, binding, context, nodes } = this.#parts;
    return lock.run(async () => {
      binding.epoch += 1;
      const saved = await context.conductor.call("instance_save", {
        uuid: instance.uuid,
        changes,
        ...(expectedTaskState ? { expectedTaskState: [...expectedTaskState], expectedHost: instance.host } : {}),
      });
      const node = instance.host === context.host ? nodes.get(instance.node ?? "") : undefined;
      if (node) {
        this.#count(saved, node);
        await updateQuietly(this.#parts, node);
      }
      return saved;
    });
  }

  async resizeClaim(
    instance: Instance,
    node: string,
    migration: Migration,
    newFlavor: Flavor,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim> {
    return resizeClaim(this.#parts, instance, node, migration, newFlavor, allocations, requestId);
  }

  async saveMove(write: MoveWrite): Promise<Moved> {
    return saveMove(this.#parts, write);
  }

  async dropMoveClaimAtSource(
    move: Moved,
    changes: InstanceChanges,
    expectedTaskState: readonly (TaskState | null)[],
  ): Promise<Moved> {
    return dropMoveClaimAtSource(this.#parts, move, changes, expectedTaskState);
  }

  async dropMoveClaimAtDestination(move: Moved, changes: InstanceChanges): Promise<Moved> {
    return dropMoveClaimAtDestination(this.#parts, move, changes);
  }

  noteBuild(node: string, result: "succeeded" | "failed"): void {
    const tracked = this.#parts.nodes.get(node);
    if (!tracked || this.#parts.options.consecutiveBuildServiceDisableThreshold === 0) {
      return;
    }
    tracked.failedBuilds = result === "failed" ? tracked.failedBuilds + 1 : 0;
  }

  nodes(): ReadonlyMap<string, ComputeNode> {
    return new Map([...this.#parts.nodes].map(([name, { row }]) => [name, row]));
  }

  async setHostEnabled(enabled: boolean, requestId?: string): Promise<void> {
    await this.#parts.lock.run(() =>
      setHostEnabled(this.#parts, enabled, requestId === undefined ? {} : { requestId }),
    );
  }

  #count(instance: Instance, node: TrackedNode): void {
    const here = instance.host === this.#parts.context.host && instance.node === node.row.hypervisorHostname;
    if (here) {
      node.account.countInstance(instance);
    } else {
      node.account.forgetInstance(instance.uuid);
    }
    const migration = node.account.migrationOf(instance.uuid);
    const moves = migration && countsMigration(instance, migration, this.#parts.options.ignoreErroredEvacuations);
    if (!moves) {
      node.account.stopCountingMigration(instance.uuid);
    }
  }

  async #listedNodes(): Promise<ReadonlySet<string> | null> {
    const { driver, runtime } = this.#parts.context;
    try {
      return new Set(await driver.getAvailableNodes({ refresh: true }));
    } catch (err) {
      if (!(err instanceof VirtDriverNotReady)) {
        throw err;
      }
      runtime.logger.warn("the hypervisor is not ready: this pass is skipped", { err });
      return null;
    }
  }

  /** The providers of many nodes, listed by Placement while the hypervisor lists the nodes. Undefined: the pass lists what it needs itself. */
  async #listProviders(request: RequestContext): Promise<readonly ProviderListing[] | undefined> {
    const { options, nodes, context } = this.#parts;
    if (!options.leanTracking || nodes.size < 2) {
      return undefined;
    }
    return context.placement.listProviders(request).catch(() => undefined);
  }

  /** `lean_tracking`: one listing instead of reading every provider. Without it the nodes are read one by one. */
  async #beginPass(
    rows: readonly ComputeNode[],
    listed: ReadonlySet<string>,
    providers: Promise<readonly ProviderListing[] | undefined>,
    request: RequestContext,
  ): Promise<PlacementPass | undefined> {
    const { options, context } = this.#parts;
    if (!options.leanTracking) {
      return undefined;
    }
    try {
      const roots = await this.#roots(rows, listed);
      if (roots.length === 0) {
        return undefined;
      }
      return await context.placement.beginPass(roots, { ...request, listed: await providers });
    } catch (err) {
      context.runtime.logger.warn("the providers of the host could not be listed", { err });
      return undefined;
    }
  }

  /** Uuids of the nodes' providers; also of those that have no row yet, where the driver knows them. */
  async #roots(rows: readonly ComputeNode[], listed: ReadonlySet<string>): Promise<readonly string[]> {
    const { context, options } = this.#parts;
    const { driver } = context;
    const known = rows.filter((row) => listed.has(row.hypervisorHostname)).map(({ uuid }) => uuid);
    // Without the guard nobody looks for nodes whose row somebody else deleted (bug 1853009).
    const all = known.length === listed.size || options.unguardedNodeDelete;
    if (all || !driver.supports("getNodenamesByUuid")) {
      return known;
    }
    const named = [...(await driver.getNodenamesByUuid())].filter(([, name]) => listed.has(name));
    return [...new Set([...known, ...named.map(([uuid]) => uuid)])];
  }
}
