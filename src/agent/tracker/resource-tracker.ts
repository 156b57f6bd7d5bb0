import type { ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import {
  type ComputeNode,
  type Flavor,
  type Instance,
  type InstanceChanges,
  type Migration,
  REBUILD_TASK_STATES,
  type Service,
  type TaskState,
} from "../../records/index.js";
import { FairLock } from "../../runtime/locks.js";
import { capabilitiesAsTraits } from "../../virt/capabilities.js";
import type { Allocations } from "../../virt/types.js";
import type { AgentContext } from "../context.js";
import { ignore } from "../ignore-errors.js";
import { claim, moveClaim } from "./claims.js";
import { type BegunTask, type Claim, type Moved, type MoveWrite, TrackerError, UNPLACED } from "./contract.js";
import { count, recountMove, touchedNodes } from "./node-records.js";
import { readDisabled, setDisabledTrait, updateNode, updateQuietly } from "./node-update.js";
import { loadProviderConfigs, ProviderMerge } from "./provider-config.js";
import { type TrackerState, trackerOptions } from "./tracker-state.js";
import { updateAvailableResource, updateAvailableResourceForNode } from "./update-available-resource.js";

type SavedInstance = NonNullable<ParamsOf<ConductorMethods, "save_together">["instance"]>;

/** Loads provider.yaml once. @throws {ProviderConfigException} a file breaks a rule */
export async function createResourceTracker(context: AgentContext): Promise<ResourceTracker> {
  const options = trackerOptions(context.config);
  const configs = await loadProviderConfigs(options.providerConfigLocation, context.runtime);
  return new ResourceTracker({
    options,
    lock: new FairLock(),
    nodes: new Map(),
    merge: new ProviderMerge(configs, context.logger),
    capabilityTraits: capabilitiesAsTraits(context.driver.capabilities, options.imageTypeExcludeList),
    binding: { serviceId: null, disabled: null, epoch: 0, persistsComputeIds: true },
    ...context,
  });
}

/**
 * The resource tracker (spec 4). One for all nodes of the agent; everything except the driver's listing runs under one
 * fair lock.
 */
export class ResourceTracker {
  readonly #state: TrackerState;

  constructor(state: TrackerState) {
    this.#state = state;
  }

  /** @throws ComputeServiceInUse for a service other than the bound one, ServiceNotUnique for another host's */
  bindService(service: Service): void {
    const { host, binding } = this.#state;
    if (service.host !== host) {
      throw new TrackerError(
        "ServiceNotUnique",
        `the tracker of host ${host} was given the service of host ${service.host}: start one agent per host`,
      );
    }
    if (binding.serviceId !== null && binding.serviceId !== service.id) {
      throw new TrackerError(
        "ComputeServiceInUse",
        `host ${host} is bound to service ${binding.serviceId} and was given service ${service.id}: ` +
          "the service was deleted and created again while this agent ran; restart the agent",
      );
    }
    binding.serviceId = service.id;
    binding.disabled = service.disabled;
  }

  /** Spec 4.3; at start-up only the fatal classes of 4.8 are thrown. */
  updateAvailableResource(options: { readonly startup: boolean }): Promise<void> {
    return updateAvailableResource(this.#state, options);
  }

  /** Updates one node, e.g. after a live migration. */
  updateAvailableResourceForNode(node: string): Promise<void> {
    return updateAvailableResourceForNode(this.#state, node);
  }

  /**
   * Spec 4.2, build and unshelve. Does not check processors, memory and disk: Placement did that.
   * @param begun changes that are saved with the claim
   * @throws {ComputeResourcesUnavailable} the node is unknown or unavailable, or discrete resources are used up.
   * UnexpectedTaskState: the instance does not have the expected task_state. Any error of the update: the claim has
   * then reverted its writes.
   */
  instanceClaim(
    instance: Instance,
    nodeName: string,
    allocations: Allocations,
    requestId?: string,
    begun: Partial<BegunTask> = {},
  ): Promise<Claim> {
    const { conductor, host, binding } = this.#state;
    return claim(this.#state, { kind: "instance", nodeName, allocations, requestId }, async (node) => {
      const saved = await conductor.call("instance_save", {
        ...begun,
        uuid: instance.uuid,
        changes: { host, node: nodeName, computeId: node.row.id, launchedOn: host, ...begun.changes },
      });
      node.account.countInstance(saved);
      const release: Claim["abort"] = async ({ instance: changes, ...expected } = {}) => {
        binding.epoch += 1;
        const write = { uuid: saved.uuid, changes: { ...UNPLACED, ...changes } };
        const saving = conductor.call("instance_save", { ...write, ...expected });
        const after = await saving.catch(ignore("InstanceNotFound"));
        node.account.forgetInstance(saved.uuid);
        return after ?? saved;
      };
      return { instance: saved, migration: null, release };
    });
  }

  /** A move claim of type evacuation, whose flavor is the instance's. @throws {ComputeResourcesUnavailable} */
  rebuildClaim(
    instance: Instance,
    nodeName: string,
    migration: Migration,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim> {
    // Another evacuation's task_state has the same name.
    const ours = requestId === undefined ? {} : { ofRequest: requestId };
    return moveClaim(this.#state, {
      instance,
      nodeName,
      migration,
      allocations,
      requestId,
      // Spec 6.7 row 3: an instance that is being deleted by now counts nowhere.
      claims: { changes: {}, expected: { expectedTaskState: ["rebuilding"], ...ours } },
      releases: { changes: {}, expected: { expectedTaskState: REBUILD_TASK_STATES, ...ours } },
    });
  }

  /**
   * A move claim with the new flavor, which is counted in addition to the instances. The same save records the
   * instance's context, new flavor and previous vm_state (spec 6.3 row 4).
   * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is no longer in resize_prep
   */
  resizeClaim(
    instance: Instance,
    nodeName: string,
    migration: Migration,
    newFlavor: Flavor,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim> {
    const systemMetadata = { ...instance.systemMetadata, old_vm_state: instance.vmState };
    return moveClaim(this.#state, {
      instance,
      nodeName,
      migration,
      allocations,
      requestId,
      claims: { changes: { newFlavor, systemMetadata }, expected: { expectedTaskState: ["resize_prep"] } },
      releases: { changes: { newFlavor: null }, expected: { expectedTaskState: ["resize_prep"] } },
    });
  }

  /**
   * Saves instance and migration in one write and recounts them on this host's nodes in the same lock section (spec
   * V20), as a pass would. A node that is not tracked is no error; the next pass repeats a failed update of a node.
   * @throws ObjectActionError (`host changed`), UnexpectedTaskState, UnexpectedVmState, InstanceNotFound,
   * MigrationNotFound: nothing was written
   */
  saveMove(write: MoveWrite): Promise<Moved> {
    const { conductor, binding, lock } = this.#state;
    return lock.run(async () => {
      binding.epoch += 1;
      const saved = await conductor.call("save_together", {
        instance: {
          uuid: write.instance.uuid,
          changes: write.changes,
          ...(write.expectedHost === undefined ? {} : { expectedHost: write.expectedHost }),
          ...(write.expectedTaskState ? { expectedTaskState: [...write.expectedTaskState] } : {}),
          ...(write.expectedVmState ? { expectedVmState: [...write.expectedVmState] } : {}),
        },
        ...(write.migrationChanges ? { migration: { id: write.migration.id, changes: write.migrationChanges } } : {}),
      });
      const moved: Moved = {
        instance: saved.instance ?? write.instance,
        migration: saved.migration ?? write.migration,
      };
      for (const node of touchedNodes(this.#state, write.instance, moved)) {
        recountMove(this.#state, node, moved, write.leaves === true);
        await updateQuietly(this.#state, node, { statistics: "later" });
      }
      return moved;
    });
  }

  /**
   * Sets status `confirmed`, removes the old flavor's usage and the context (spec 4.2 `drop_move_claim_at_source`).
   * @throws as {@link saveMove}
   */
  dropMoveClaimAtSource(
    { instance, migration }: Moved,
    changes: InstanceChanges,
    expectedTaskState: readonly (TaskState | null)[],
  ): Promise<Moved> {
    return this.saveMove({
      instance,
      changes: { ...changes, migrationContext: null },
      expectedTaskState,
      migration,
      migrationChanges: { status: "confirmed" },
    });
  }

  /**
   * Sets status `reverted`, removes the context and the new flavor's usage, although the instance is still here (spec
   * 4.2 `drop_move_claim_at_dest`); only in task `resize_reverting`.
   * @throws as {@link saveMove}
   */
  dropMoveClaimAtDestination({ instance, migration }: Moved, changes: InstanceChanges): Promise<Moved> {
    return this.saveMove({
      instance,
      changes: { ...changes, migrationContext: null },
      expectedTaskState: ["resize_reverting"],
      migration,
      migrationChanges: { status: "reverted" },
      leaves: migration.sourceCompute !== migration.destCompute || migration.sourceNode !== migration.destNode,
    });
  }

  /**
   * Sets host, node and compute id to this host's, applies and drops the context, sets status `done`; one lock section
   * (spec V28). Saves `changes` in the same write, if the task state still is one of `expected`, and of that request.
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written
   */
  async finishEvacuation(
    instance: Instance,
    node: string,
    { id }: Migration,
    changes: InstanceChanges,
    { taskState, ofRequest }: { readonly taskState: readonly TaskState[]; readonly ofRequest: string },
  ): Promise<Instance> {
    const expected = { expectedTaskState: [...taskState], ofRequest };
    return this.#takeOver(instance, node, changes, expected, { migration: { id, changes: { status: "done" } } });
  }

  /**
   * Records that the guest of a live migration runs here now, if the instance still is on host `source` (spec 6.5 row
   * 8, V20). Sets host, node and compute id to this host's, saves `changes` in the same write, and counts the instance
   * in the same lock section.
   * @throws ObjectActionError (`host changed`), UnexpectedTaskState, InstanceNotFound: nothing was written
   */
  finishLiveMigration(
    instance: Instance,
    node: string,
    changes: InstanceChanges,
    { source, taskState }: { readonly source: string | null; readonly taskState?: readonly (TaskState | null)[] },
  ): Promise<Instance> {
    const expected = { expectedHost: source, ...(taskState ? { expectedTaskState: [...taskState] } : {}) };
    return this.#takeOver(instance, node, changes, expected, {});
  }

  /** Assigns the instance to this node; no move to this host remains. */
  #takeOver(
    instance: Instance,
    nodeName: string,
    changes: InstanceChanges,
    expected: Pick<SavedInstance, "expectedHost" | "expectedTaskState" | "ofRequest">,
    migration: Pick<ParamsOf<ConductorMethods, "save_together">, "migration">,
  ): Promise<Instance> {
    const { lock, nodes, binding, conductor, host } = this.#state;
    return lock.run(async () => {
      const node = nodes.get(nodeName);
      binding.epoch += 1;
      const here = { host, node: nodeName, computeId: node?.row.id ?? null, migrationContext: null };
      const saved = await conductor.call("save_together", {
        instance: { uuid: instance.uuid, changes: { ...changes, ...here }, ...expected },
        ...migration,
      });
      const finished = saved.instance ?? instance;
      if (node) {
        node.account.forgetMigration(finished.uuid);
        node.account.countInstance(finished);
        await updateQuietly(this.#state, node);
      }
      return finished;
    });
  }

  /** Recounts one instance after it was changed or deleted; under the lock. */
  async updateUsage(instance: Instance, node: string): Promise<void> {
    const { lock, binding, nodes } = this.#state;
    await lock.run(async () => {
      const tracked = nodes.get(node);
      if (!tracked) {
        return;
      }
      binding.epoch += 1;
      count(this.#state, instance, tracked);
      await readDisabled(this.#state);
      await updateNode(this.#state, tracked, { startup: false });
    });
  }

  /**
   * Saves changes that affect whether an instance counts on its node, and recounts it in the same lock section (spec
   * V20). A node that is not tracked is no error. Updates Placement and the node's row like the other methods.
   */
  saveInstance(
    { uuid, host, node: nodeName }: Instance,
    changes: InstanceChanges,
    expectedTaskState?: readonly (TaskState | null)[],
  ): Promise<Instance> {
    const { lock, binding, conductor, nodes } = this.#state;
    return lock.run(async () => {
      binding.epoch += 1;
      const expected = expectedTaskState ? { expectedTaskState: [...expectedTaskState], expectedHost: host } : {};
      const saved = await conductor.call("instance_save", { uuid, changes, ...expected });
      const node = host === this.#state.host ? nodes.get(nodeName ?? "") : undefined;
      if (node) {
        count(this.#state, saved, node);
        await updateQuietly(this.#state, node);
      }
      return saved;
    });
  }

  /** Counts towards `[compute] consecutive_build_service_disable_threshold`; a success resets the count. */
  noteBuild(node: string, result: "succeeded" | "failed"): void {
    const tracked = this.#state.nodes.get(node);
    if (tracked && this.#state.options.consecutiveBuildServiceDisableThreshold !== 0) {
      tracked.failedBuilds = result === "failed" ? tracked.failedBuilds + 1 : 0;
    }
  }

  /** Returns the tracked nodes, by name. Empty until the first pass. */
  nodes(): ReadonlyMap<string, ComputeNode> {
    return new Map([...this.#state.nodes].map(([name, { row }]) => [name, row]));
  }

  /**
   * Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5). Logs failures as warnings: each pass derives the
   * trait from the Service row again.
   */
  setHostEnabled(enabled: boolean, requestId: string): Promise<void> {
    return this.#state.lock.run(() => setDisabledTrait(this.#state, enabled, { requestId }));
  }
}
