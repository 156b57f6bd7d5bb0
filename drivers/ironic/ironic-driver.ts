import {
  type AvailableResource,
  type Capabilities,
  type DestroyOptions,
  type DriverContext,
  type DriverOperationOptions,
  type GuestInfo,
  GuestNotFound,
  type Instance,
  InvalidConfiguration,
  type ProviderTree,
  type RescueOptions,
  type SpawnOptions,
  type VirtDriver,
  VirtDriverNotReady,
} from "../../src/virt/index.js";
import { claimNode } from "./claim.js";
import { IronicApi } from "./client/ironic-api.js";
import { IronicError, means, messageOf } from "./client/ironic-error.js";
import { type IronicNode, powerStateOf } from "./client/ironic-node.js";
import { compileIronicConfig, type IronicConfig } from "./config.js";
import { deploy, rebuild } from "./deployment.js";
import { NodeCache } from "./node-cache.js";
import { refreshNodes } from "./node-listing.js";
import { findNode, type IronicTools, nodeOf, readNodeNow, withRetries } from "./node-requests.js";
import { fillProvider, resourceOf } from "./node-resources.js";
import { powerOff, powerOn, reboot, rescue, unrescue } from "./power-and-rescue.js";
import { cleanUpFailedSpawn, destroy, destroyDeleted } from "./tear-down.js";

type Options = DriverOperationOptions;

/** Bare metal by Ironic: many nodes, which move between hosts. Node name = node uuid = provider uuid. */
export class IronicDriver implements VirtDriver {
  readonly capabilities: Capabilities = {
    hasNodeIdentities: true,
    supportsAttachInterface: true,
    supportsImageTypeAmi: true,
    supportsImageTypeQcow2: true,
    supportsImageTypeRaw: true,
  };
  readonly rebalancesNodes = true;
  readonly #tools: IronicTools;

  /** @throws {InvalidConfiguration} */
  constructor(context: DriverContext) {
    const config = compileIronicConfig(context.config);
    assertConsistent(config);
    const quirks = context.workarounds.upstreamQuirks;
    this.#tools = { context, config, api: new IronicApi(context, config), cache: new NodeCache(), quirks };
  }

  /** Starts even if Ironic is unreachable: passes are skipped until it responds. */
  async initHost(): Promise<void> {
    try {
      await this.#tools.api.version();
    } catch (error) {
      if (!(error instanceof IronicError)) {
        throw error;
      }
      this.#tools.context.logger.warn("Ironic is not responding; its nodes are not reported until it does", {
        err: error,
      });
    }
  }

  async cleanupHost(): Promise<void> {}

  getHostIpAddr(): string {
    return this.#tools.context.myIp;
  }

  async listInstanceUuids(options: Options = {}): Promise<readonly string[]> {
    await this.#managed(options);
    return this.#tools.cache.instances();
  }

  async getAvailableNodes(options: Options & { readonly refresh?: boolean } = {}): Promise<readonly string[]> {
    return [...(await this.#managed(options, options.refresh))];
  }

  async getNodenamesByUuid(
    options: Options & { readonly refresh?: boolean } = {},
  ): Promise<ReadonlyMap<string, string>> {
    return new Map([...(await this.#managed(options, options.refresh))].map((uuid) => [uuid, uuid]));
  }

  /**
   * Returns true only if Ironic responds that the node does not exist: a node may be missing from the list for many
   * reasons.
   */
  async isNodeDeleted(node: string, options: Options = {}): Promise<boolean> {
    if (this.#tools.quirks.has("ironic-unlisted-is-deleted")) {
      return true;
    }
    try {
      await this.#tools.api.getNode(node, options);
      return false;
    } catch (error) {
      if (means(error, "not-found")) {
        return true;
      }
      throw new VirtDriverNotReady(`could not check whether node ${node} still exists in Ironic: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async getAvailableResource(node: string, options: Options = {}): Promise<AvailableResource> {
    return resourceOf(await this.#node(node, options), this.#tools.context.logger);
  }

  async updateProviderTree(tree: ProviderTree, node: string, options: Options = {}): Promise<void> {
    const { context } = this.#tools;
    const skipReserveInUse = context.workarounds.skipReserveInUseIronicNodes;
    fillProvider(tree, await this.#node(node, options), { skipReserveInUse, logger: context.logger });
  }

  async getInfo(instance: Instance, options: Options = {}): Promise<GuestInfo> {
    const node = this.#tools.cache.withInstance(instance.uuid) ?? (await findNode(this.#tools, instance, options));
    if (!node) {
      throw new GuestNotFound(`Instance ${instance.uuid} could not be found: no node of Ironic has it`);
    }
    return { state: powerStateOf(node) };
  }

  prepareForSpawn(instance: Instance, options: Options = {}): Promise<void> {
    return claimNode(this.#tools, instance, options);
  }

  spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    return deploy(this.#tools, instance, options);
  }

  rebuild(instance: Instance, options: SpawnOptions): Promise<void> {
    return rebuild(this.#tools, instance, options);
  }

  failedSpawnCleanup(instance: Instance, options: Options = {}): Promise<void> {
    return cleanUpFailedSpawn(this.#tools, instance, options);
  }

  destroy(instance: Instance, options: DestroyOptions): Promise<void> {
    return destroy(this.#tools, instance, options);
  }

  /** Releases the node of a deleted instance, if it still has one. There are no files. */
  async deleteInstanceFiles(instance: Instance, options: Options = {}): Promise<boolean> {
    await destroyDeleted(this.#tools, instance, options);
    return true;
  }

  powerOn(instance: Instance, options: Options = {}): Promise<void> {
    return powerOn(this.#tools, instance, options);
  }

  powerOff(instance: Instance, options: Options & { readonly timeout?: number } = {}): Promise<void> {
    return powerOff(this.#tools, instance, options);
  }

  reboot(instance: Instance, type: "SOFT" | "HARD", options: Options = {}): Promise<void> {
    return reboot(this.#tools, instance, type, options);
  }

  /** Reads the node again, since the cached one may be older than the change. */
  async powerUpdateEvent(
    instance: Instance,
    _target: "POWER_ON" | "POWER_OFF",
    { signal }: Options = {},
  ): Promise<void> {
    await withRetries(this.#tools, { signal }, () => nodeOf(this.#tools, instance, { signal }));
  }

  rescue(instance: Instance, options: RescueOptions): Promise<void> {
    return rescue(this.#tools, instance, options);
  }

  unrescue(instance: Instance, options: Options = {}): Promise<void> {
    return unrescue(this.#tools, instance, options);
  }

  async #managed(options: Options, refresh = false): Promise<ReadonlySet<string>> {
    const { cache } = this.#tools;
    if (refresh || cache.managed === null) {
      await refreshNodes(this.#tools, options);
    }
    return cache.managed ?? new Set();
  }

  /** Returns the cached node, or reads it if an operation has changed it. */
  async #node(uuid: string, options: Options): Promise<IronicNode> {
    return this.#tools.cache.get(uuid) ?? readNodeNow(this.#tools, uuid, options);
  }
}

function assertConsistent({ shard, peerList, conductorGroup }: IronicConfig): void {
  if (shard !== null && peerList.length > 0) {
    throw new InvalidConfiguration(
      "[ironic] shard and peer_list are both set, but a shard has one service only: unset one of them",
    );
  }
  if (peerList.length > 0 && conductorGroup === null) {
    throw new InvalidConfiguration(
      "[ironic] peer_list is set, but not the conductor_group whose nodes the peers share: set it, empty for the default group",
    );
  }
}
