import {
  BuildAbortException,
  configDriveMetadata,
  GuestNotFound,
  type ImageMeta,
  type Instance,
  type NetworkInfo,
  type SpawnOptions,
} from "../../src/virt/index.js";
import type { PatchStep } from "./client/ironic-api.js";
import { means } from "./client/ironic-error.js";
import { type IronicNode, isAvailable } from "./client/ironic-node.js";
import { atLeast, CONFIG_DRIVE_OBJECTS } from "./client/requests.js";
import {
  InstanceDeployFailure,
  type IronicTools,
  nodeOf,
  pollInstance,
  readNodeNow,
  sendOnce,
  withRetries,
} from "./node-requests.js";
import { undoClaim } from "./tear-down.js";

interface InstanceInfoOptions {
  readonly image: ImageMeta;
  readonly network: readonly NetworkInfo[];
  /** `--host` */
  readonly host: string;
  /** Set by rebuilds only. */
  readonly preserveEphemeral?: boolean;
}

/** User data is stored in base64. */
const userDataOf = (encoded: string): string => Buffer.from(encoded, "base64").toString("utf8");

/** Interfaces that must pass validation before a node is deployed. */
const VALIDATED = ["deploy", "power", "storage"] as const;

/**
 * Deploys the node that {@link claimNode} claimed. A failure before the deploy request is undone here, so that another
 * host can be tried. After that request, the agent's destroy must tear the node down.
 */
export async function deploy(tools: IronicTools, instance: Instance, options: SpawnOptions): Promise<void> {
  const { signal } = options;
  const node = await claimedNode(tools, instance, options);
  try {
    await withRetries(tools, { signal }, () => attachVifs(tools, node.uuid, options.network, signal));
    await prepare(tools, node, instance, options);
    await requestDeploy(tools, node, instance, "active", signal);
  } catch (error) {
    await undoAfter(tools, node, instance, options, error);
    throw error;
  }
  await waitForActive(tools, instance, signal);
}

/** Redeploys the instance's node. The claim remains even if this fails. */
export async function rebuild(tools: IronicTools, instance: Instance, options: SpawnOptions): Promise<void> {
  const { signal } = options;
  const node = await nodeOf(tools, instance, { signal });
  const { image, network } = options;
  const { host } = tools.context;
  const info = instanceInfoPatch(node, instance, { image, network, host, preserveEphemeral: false });
  await tools.api.patchNode(node.uuid, info, { signal });
  await requestDeploy(tools, node, instance, "rebuild", signal);
  await waitForActive(tools, instance, signal);
}

async function claimedNode(tools: IronicTools, instance: Instance, { signal }: SpawnOptions): Promise<IronicNode> {
  if (instance.node === null) {
    throw new GuestNotFound(`instance ${instance.uuid} has no node assigned`);
  }
  const { node: uuid } = instance;
  const node = await withRetries(tools, { signal }, () => readNodeNow(tools, uuid, { signal }));
  if (node.instanceUuid === instance.uuid) {
    return node;
  }
  throw new InstanceDeployFailure(
    `node ${node.uuid} was claimed for instance ${instance.uuid}, but Ironic reports its instance as ${node.instanceUuid ?? "none"}`,
  );
}

async function attachVifs(
  { api }: IronicTools,
  node: string,
  network: readonly NetworkInfo[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const { id } of network) {
    await api.attachVif(node, id, { signal });
  }
}

async function prepare(
  tools: IronicTools,
  node: IronicNode,
  instance: Instance,
  { image, network, signal }: SpawnOptions,
): Promise<void> {
  const { api, context } = tools;
  const info = instanceInfoPatch(node, instance, { image, network, host: context.host });
  await withRetries(tools, { signal }, () => api.patchNode(node.uuid, info, { signal }));
  const results = await withRetries(tools, { signal }, () => api.validate(node.uuid, { signal }));
  const failed = VALIDATED.filter((name) => results[name]?.result !== true);
  if (failed.length === 0) {
    return;
  }
  const reasons = failed.map((name) => `${name}: ${results[name]?.reason ?? "no result"}`);
  throw new InstanceDeployFailure(
    `Ironic node ${node.uuid} did not pass validation for instance ${instance.uuid}: ${reasons.join("; ")}`,
  );
}

async function requestDeploy(
  tools: IronicTools,
  node: IronicNode,
  instance: Instance,
  target: "active" | "rebuild",
  signal: AbortSignal | undefined,
): Promise<void> {
  const { api, cache } = tools;
  const configdrive = configDrive(instance, await api.version());
  const request = { target, ...(configdrive === undefined ? {} : { configdrive }) };
  const begun = (now: IronicNode) =>
    now.instanceUuid === instance.uuid && !isAvailable(now.provisionState) && now.targetProvisionState === "active";
  const done = (now: IronicNode) => target === "active" && now.provisionState === "active";
  try {
    await sendOnce(
      tools,
      node.uuid,
      { signal },
      () => api.setProvisionState(node.uuid, request, { signal }),
      (now) => begun(now) || done(now),
    );
  } catch (error) {
    if (error instanceof Error && error.message.includes("InvalidImage")) {
      throw new BuildAbortException(`Ironic rejected the image of instance ${instance.uuid}: ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  } finally {
    cache.forget(node.uuid);
  }
}

async function undoAfter(
  tools: IronicTools,
  node: IronicNode,
  instance: Instance,
  { network, signal }: SpawnOptions,
  cause: unknown,
): Promise<void> {
  // Ironic may have accepted the deploy request. The agent's destroy reads the node to find out.
  if (signal?.aborted || means(cause, "unreachable")) {
    return;
  }
  try {
    await undoClaim(tools, node.uuid, instance, { network });
  } catch (error) {
    tools.context.logger.error("the claim of a failed build could not be undone; its node stays claimed", {
      node: node.uuid,
      instance: instance.uuid,
      err: error,
    });
  }
}

/** Waits until the node is active. Ends early if the instance is in error or being deleted. */
async function waitForActive(tools: IronicTools, instance: Instance, signal: AbortSignal | undefined): Promise<void> {
  await pollInstance(tools, instance, { waitingFor: "an active node", signal }, async (node) => {
    await assertNotAborted(tools, instance);
    if (!node) {
      throw new GuestNotFound(`Instance ${instance.uuid} could not be found: its node was released`);
    }
    const { provisionState, targetProvisionState } = node;
    if (provisionState === "active") {
      return true;
    }
    if (isAvailable(provisionState) || ["deleted", "available"].includes(targetProvisionState ?? "")) {
      throw new GuestNotFound(`Instance ${instance.uuid} could not be found: node ${node.uuid} is being torn down`);
    }
    if (provisionState === "deploy failed" || provisionState === "error") {
      throw new InstanceDeployFailure(
        `Failed to provision instance ${instance.uuid}: ${node.lastError ?? "Ironic reported no reason"}`,
      );
    }
    return false;
  });
}

async function assertNotAborted({ context }: IronicTools, { uuid }: Instance): Promise<void> {
  const states = await context.virtApi.instanceStates(uuid);
  // A server that is rebuilt from error stays in error until its node is active.
  if (states?.taskState === "rebuild_spawning") {
    return;
  }
  if (states && states.taskState !== "deleting" && !["error", "deleted"].includes(states.vmState)) {
    return;
  }
  throw new InstanceDeployFailure(
    `Instance ${uuid} provisioning was aborted: it is ${states ? `${states.vmState}, ${states.taskState}` : "deleted"}`,
  );
}

/**
 * Returns the instance's config drive as an object from which Ironic builds an image, so that this host needs no tool
 * for it. Returns undefined if the instance has none.
 * @throws {BuildAbortException} Ironic is too old for such an object, or the object cannot represent the instance's
 * data.
 */
function configDrive(instance: Instance, version: string): unknown {
  if (!instance.configDrive) {
    return undefined;
  }
  if (!atLeast(version, CONFIG_DRIVE_OBJECTS)) {
    throw new BuildAbortException(
      `instance ${instance.uuid} needs a config drive, which requires Ironic API version ${CONFIG_DRIVE_OBJECTS}, but Ironic offers ${version}`,
    );
  }
  if (instance.injectedFiles.length > 0) {
    throw new BuildAbortException(
      `instance ${instance.uuid} has ${instance.injectedFiles.length} files (personality) for its config drive, but Ironic builds config drives only from metadata and user data; pass the files in user data (cloud-init's write_files)`,
    );
  }
  return {
    meta_data: configDriveMetadata(instance),
    ...(instance.userData === null ? {} : { user_data: userDataOf(instance.userData) }),
  };
}

/** Returns the patch of the node's `instance_info`. All values but traits are strings. The order is Nova's. */
function instanceInfoPatch(
  node: IronicNode,
  instance: Instance,
  { image, network, host, preserveEphemeral }: InstanceInfoOptions,
): readonly PatchStep[] {
  const { flavor, systemMetadata } = instance;
  const capabilities = specs(flavor.extraSpecs, "capabilities:");
  const traits = requiredTraits(flavor.extraSpecs, image.properties);
  const fixedIps = network.map(({ address }) => address).filter((address) => address !== "");
  const info: readonly (readonly [key: string, value: unknown])[] = [
    ...(image.id === "" ? [] : [["image_source", image.id] as const]),
    ["root_gb", String(instance.rootGb)],
    ["swap_mb", String(flavor.swap)],
    ["display_name", instance.displayName],
    ["vcpus", String(instance.vcpus)],
    ["nova_host_id", host],
    ["memory_mb", String(instance.memoryMb)],
    ["local_gb", node.properties.localGb ?? "0"],
    ["project_id", instance.projectId],
    ["project_name", systemMetadata.owner_project_name ?? ""],
    ["user_id", instance.userId],
    ["user_name", systemMetadata.owner_user_name ?? ""],
    ["flavor_name", flavor.name],
    ["fixed_ips", pythonJson(fixedIps)],
    ["floating_ips", "[]"],
    ...(instance.ephemeralGb > 0 ? [["ephemeral_gb", String(instance.ephemeralGb)] as const] : []),
    ...(preserveEphemeral === undefined ? [] : [["preserve_ephemeral", preserveEphemeral ? "True" : "False"] as const]),
    ...(Object.keys(capabilities).length > 0 ? [["capabilities", pythonJson(capabilities)] as const] : []),
    ...(traits.length > 0 ? [["traits", traits] as const] : []),
  ];
  return info.map(([key, value]) => ({ path: `/instance_info/${key}`, op: "add", value }));
}

function specs(properties: Readonly<Record<string, string>>, prefix: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

/** Returns the traits of `trait:T=required` and `trait<group>:T=required` in the flavor and in the image. */
function requiredTraits(...sources: readonly Readonly<Record<string, string>>[]): readonly string[] {
  const traits = sources.flatMap((properties) =>
    Object.entries(properties).flatMap(([key, value]) => {
      const [, trait] = /^trait[^:]*:(.+)$/.exec(key) ?? [];
      return trait !== undefined && value === "required" ? [trait] : [];
    }),
  );
  return [...new Set(traits)].sort();
}

/** Formats JSON with Python's spaces, as in the recorded requests. */
function pythonJson(value: readonly string[] | Readonly<Record<string, string>>): string {
  return Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(", ")}]`
    : `{${Object.entries(value)
        .map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`)
        .join(", ")}}`;
}
