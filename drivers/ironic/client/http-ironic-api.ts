import type { IronicConfig } from "../config.js";
import type {
  CallOptions,
  IronicApi,
  NodeQuery,
  PatchStep,
  PowerTarget,
  ProvisionRequest,
  ValidationResult,
} from "./ironic-api.js";
import { isRecord, means } from "./ironic-error.js";
import { type IronicNode, malformed, NODE_FIELDS, readNode } from "./ironic-node.js";
import { listNodes } from "./node-list.js";
import { IronicRequests, type RequestDoors } from "./requests.js";

/** The query with which nova master asks for volume targets. */
const VOLUME_VERSION = "1.32";

/** Ironic's API over HTTP, as recorded from nova master. */
export class HttpIronicApi implements IronicApi {
  readonly #requests: IronicRequests;

  /** @throws {InvalidConfiguration} */
  constructor(doors: RequestDoors, config: IronicConfig) {
    this.#requests = new IronicRequests(doors, config);
  }

  version(): Promise<string> {
    return this.#requests.version();
  }

  listNodes(query: NodeQuery, options: CallOptions = {}): Promise<readonly IronicNode[]> {
    return listNodes(this.#requests, query, options);
  }

  async getNode(uuid: string, { signal }: CallOptions = {}): Promise<IronicNode> {
    const path = `${nodePath(uuid)}?fields=${NODE_FIELDS}`;
    return readNode(await this.#requests.sendJson({ method: "GET", path, signal }), path);
  }

  async findByInstance(instance: string, { signal }: CallOptions = {}): Promise<IronicNode | null> {
    const path = `/v1/nodes?fields=${NODE_FIELDS}&instance_uuid=${instance}`;
    const body = await this.#requests.sendJson({ method: "GET", path, signal });
    if (!isRecord(body) || !Array.isArray(body.nodes)) {
      throw malformed(path, "there is no list of nodes");
    }
    const nodes = (body.nodes as unknown[]).map((node) => readNode(node, path));
    // An Ironic that does not know the filter would list everything.
    if (nodes.length > 1) {
      throw malformed(path, `${nodes.length} nodes are said to have one instance`);
    }
    const [node] = nodes;
    if (node && node.instanceUuid !== instance) {
      throw malformed(path, `node ${node.uuid} has another instance`);
    }
    return node ?? null;
  }

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

  async setPowerState(
    uuid: string,
    target: PowerTarget,
    { signal, timeout }: CallOptions & { readonly timeout?: number } = {},
  ): Promise<void> {
    const body = { target, ...(timeout === undefined ? {} : { timeout }) };
    await this.#requests.send({ method: "PUT", path: `${nodePath(uuid)}/states/power`, body, signal });
  }

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

  async detachVif(uuid: string, port: string, { signal }: CallOptions = {}): Promise<void> {
    try {
      await this.#requests.send({ method: "DELETE", path: `${nodePath(uuid)}/vifs/${port}`, signal });
    } catch (error) {
      if (!means(error, "not-found", "other", "wrong-state", "maintenance") || (error.status ?? 500) >= 500) {
        throw error;
      }
    }
  }

  async volumeTargets(uuid: string, { signal }: CallOptions = {}): Promise<readonly string[]> {
    const path = `/v1/volume/targets?node=${uuid}&detail=True`;
    const body = await this.#requests.sendJson({ method: "GET", path, version: VOLUME_VERSION, signal });
    return textsOf(body, "targets", "uuid");
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

function textsOf(body: unknown, list: string, key: string): readonly string[] {
  const items = isRecord(body) ? body[list] : undefined;
  if (!Array.isArray(items)) {
    return [];
  }
  return (items as unknown[]).flatMap((item) => {
    const text = isRecord(item) ? item[key] : undefined;
    return typeof text === "string" ? [text] : [];
  });
}
