import type { IronicConfig } from "../config.js";
import { isRecord, means } from "./ironic-error.js";
import { type IronicNode, malformed, NODE_FIELDS, readNode } from "./ironic-node.js";
import { type CallOptions, IronicRequests, type RequestDeps } from "./requests.js";

/** The filters of a node listing. */
interface NodeQuery {
  /** The empty string is the default group. If omitted, all groups are listed. */
  readonly conductorGroup?: string;
  readonly shard?: string;
}

/** The nodes of one page, and whether more pages follow. */
interface Page {
  readonly nodes: readonly IronicNode[];
  readonly more: boolean;
}

/** Nodes per page. Ironic returns fewer if its own limit is lower. */
const PAGE = 1000;

/** Maximum number of listings if a page's marker node is deleted in the meantime. */
const LISTINGS = 3;

/** One step of a JSON patch (RFC 6902). */
export interface PatchStep {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

export interface ValidationResult {
  readonly result: boolean | null;
  readonly reason: string | null;
}

export type PowerTarget = "power on" | "power off" | "rebooting" | "soft power off" | "soft rebooting";

export type ProvisionRequest =
  | { readonly target: "active" | "rebuild"; readonly configdrive?: unknown }
  | { readonly target: "deleted" | "unrescue" }
  | { readonly target: "rescue"; readonly rescuePassword: string };

/** API version of Nova master's requests for volume targets. */
const VOLUME_VERSION = "1.32";

/** The driver's requests, as recorded from Nova master. Every method throws {@link IronicError}. */
export class IronicApi {
  readonly #requests: IronicRequests;

  /** @throws {InvalidConfiguration} */
  constructor(deps: RequestDeps, config: IronicConfig) {
    this.#requests = new IronicRequests(deps, config);
  }

  /** Returns the negotiated API version, such as `1.82`. */
  version(): Promise<string> {
    return this.#requests.version();
  }

  /** Returns all matching nodes without duplicates. An incomplete or contradictory listing is `malformed`. */
  listNodes(query: NodeQuery, options: CallOptions = {}): Promise<readonly IronicNode[]> {
    return listNodes(this.#requests, query, options);
  }

  async getNode(uuid: string, { signal }: CallOptions = {}): Promise<IronicNode> {
    const path = `${nodePath(uuid)}?fields=${NODE_FIELDS}`;
    return readNode(await this.#requests.sendJson({ method: "GET", path, signal }), path);
  }

  /** Returns null if no node has the instance. */
  async findByInstance(instance: string, { signal }: CallOptions = {}): Promise<IronicNode | null> {
    const path = `/v1/nodes?fields=${NODE_FIELDS}&instance_uuid=${instance}`;
    const body = await this.#requests.sendJson({ method: "GET", path, signal });
    if (!isRecord(body) || !Array.isArray(body.nodes)) {
      throw malformed(path, "there is no list of nodes");
    }
    const nodes = (body.nodes as unknown[]).map((node) => readNode(node, path));
    // An Ironic that does not know the filter would list all nodes.
    if (nodes.length > 1) {
      throw malformed(path, `${nodes.length} nodes have the same instance`);
    }
    const [node] = nodes;
    if (node && node.instanceUuid !== instance) {
      throw malformed(path, `node ${node.uuid} has another instance`);
    }
    return node ?? null;
  }

  /** With `claim`, a conflict is the result and not a reason to retry. */
  async patchNode(
    uuid: string,
    patch: readonly PatchStep[],
    { signal, claim = false }: CallOptions & { readonly claim?: boolean } = {},
  ): Promise<void> {
    await this.#requests.send({
      method: "PATCH",
      path: nodePath(uuid),
      body: patch,
      signal,
      ...(claim ? { retryOn: ["no-worker"] } : {}),
    });
  }

  /** Returns the results by interface: `deploy`, `power`, `storage`. */
  async validate(uuid: string, { signal }: CallOptions = {}): Promise<Readonly<Record<string, ValidationResult>>> {
    const path = `${nodePath(uuid)}/validate`;
    const body = await this.#requests.sendJson({ method: "GET", path, signal });
    if (!isRecord(body)) {
      throw malformed(path, "there are no results");
    }
    return Object.fromEntries(
      Object.entries(body).map(([name, value]) => {
        const { result, reason } = isRecord(value) ? value : {};
        return [
          name,
          { result: typeof result === "boolean" ? result : null, reason: typeof reason === "string" ? reason : null },
        ];
      }),
    );
  }

  async setProvisionState(uuid: string, request: ProvisionRequest, { signal }: CallOptions = {}): Promise<void> {
    const body =
      request.target === "rescue" ? { target: "rescue", rescue_password: request.rescuePassword } : { ...request };
    await this.#requests.send({ method: "PUT", path: `${nodePath(uuid)}/states/provision`, body, signal });
  }

  /** @param options `timeout`: seconds for a soft target */
  async setPowerState(
    uuid: string,
    target: PowerTarget,
    { signal, timeout }: CallOptions & { readonly timeout?: number } = {},
  ): Promise<void> {
    const body = { target, ...(timeout === undefined ? {} : { timeout }) };
    await this.#requests.send({ method: "PUT", path: `${nodePath(uuid)}/states/power`, body, signal });
  }

  /** Succeeds if the port is already attached. */
  async attachVif(uuid: string, port: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `${nodePath(uuid)}/vifs`;
    try {
      await this.#requests.send({ method: "POST", path, body: { id: port }, signal });
    } catch (error) {
      if (!means(error, "other", "associated", "instance-elsewhere") || error.status !== 409) {
        throw error;
      }
    }
  }

  /** Succeeds if the port is not attached. */
  async detachVif(uuid: string, port: string, { signal }: CallOptions = {}): Promise<void> {
    try {
      await this.#requests.send({ method: "DELETE", path: `${nodePath(uuid)}/vifs/${port}`, signal });
    } catch (error) {
      if (!means(error, "not-found", "other", "wrong-state", "maintenance") || (error.status ?? 500) >= 500) {
        throw error;
      }
    }
  }

  /** Returns the uuids of the node's volume targets. */
  async volumeTargets(uuid: string, { signal }: CallOptions = {}): Promise<readonly string[]> {
    const path = `/v1/volume/targets?node=${uuid}&detail=True`;
    const body = await this.#requests.sendJson({ method: "GET", path, version: VOLUME_VERSION, signal });
    return collectStrings(body, "targets", "uuid");
  }

  async deleteVolumeTarget(target: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `/v1/volume/targets/${target}`;
    try {
      await this.#requests.send({ method: "DELETE", path, version: VOLUME_VERSION, signal });
    } catch (error) {
      if (!means(error, "not-found")) {
        throw error;
      }
    }
  }
}

const nodePath = (uuid: string): string => `/v1/nodes/${uuid}`;

function collectStrings(body: unknown, list: string, key: string): readonly string[] {
  const items = isRecord(body) ? body[list] : undefined;
  if (!Array.isArray(items)) {
    return [];
  }
  return (items as unknown[]).flatMap((item) => {
    const text = isRecord(item) ? item[key] : undefined;
    return typeof text === "string" ? [text] : [];
  });
}

/** Lists every node that matches the query. @throws {IronicError} */
async function listNodes(
  requests: IronicRequests,
  query: NodeQuery,
  { signal }: CallOptions = {},
): Promise<readonly IronicNode[]> {
  for (let listing = 1; ; listing += 1) {
    try {
      return await listOnce(requests, query, signal);
    } catch (error) {
      // The marker's node was deleted.
      if (!means(error, "not-found") || listing === LISTINGS) {
        throw error;
      }
    }
  }
}

/**
 * Requests each page with the query's own filters. Ironic's `next` link has the marker, but lacks filters such as shard
 * and conductor group. Following it would mix in the nodes of other hosts.
 */
async function listOnce(
  requests: IronicRequests,
  query: NodeQuery,
  signal: AbortSignal | undefined,
): Promise<readonly IronicNode[]> {
  const found = new Map<string, IronicNode>();
  let marker: string | null = null;
  for (;;) {
    const path = pathOf(query, marker);
    const page = readPage(await requests.sendJson({ method: "GET", path, signal }), path);
    for (const node of page.nodes) {
      if (found.has(node.uuid)) {
        throw malformed(path, `node ${node.uuid} is listed twice`);
      }
      found.set(node.uuid, node);
    }
    if (!page.more) {
      return [...found.values()];
    }
    const last = page.nodes.at(-1);
    if (!last) {
      throw malformed(path, "it announces more nodes but lists none");
    }
    marker = last.uuid;
  }
}

function pathOf({ conductorGroup, shard }: NodeQuery, marker: string | null): string {
  const tools = [
    ...(conductorGroup === undefined ? [] : [`conductor_group=${encodeURIComponent(conductorGroup)}`]),
    ...(shard === undefined ? [] : [`shard=${encodeURIComponent(shard)}`]),
    `fields=${NODE_FIELDS}`,
    ...(marker === null ? [] : ["sort_key=id", "sort_dir=asc", `limit=${PAGE}`, `marker=${marker}`]),
  ];
  return `/v1/nodes?${tools.join("&")}`;
}

function readPage(body: unknown, path: string): Page {
  if (!isRecord(body) || !Array.isArray(body.nodes)) {
    throw malformed(path, "there is no list of nodes");
  }
  const nodes = (body.nodes as unknown[]).map((node) => readNode(node, path));
  return { nodes, more: typeof body.next === "string" && body.next !== "" };
}
