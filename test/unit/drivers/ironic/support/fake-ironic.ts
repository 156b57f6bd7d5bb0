import {
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
} from "../../../../../src/virt/index.js";

/** A node as in Ironic's API, with only the fields that the driver requests. */
export interface FakeNode {
  uuid: string;
  power_state: string | null;
  target_power_state: string | null;
  provision_state: string | null;
  target_provision_state: string | null;
  last_error: string | null;
  maintenance: boolean;
  properties: Record<string, unknown>;
  instance_uuid: string | null;
  traits: string[];
  resource_class: string | null;
  /** Only used by filters. */
  shard?: string;
  conductor_group?: string;
  instance_info: Record<string, unknown>;
  vifs: string[];
}

/** The fate of a request: refused before it is carried out, its response lost afterwards, or another response. */
export type FakeFault = "refused" | "answer lost" | HttpResponse;

export interface ObservedRequest {
  readonly method: string;
  /** Begins with `/v1`, decoded. */
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly tlsSection: string | undefined;
}

/** Steps of a transition. Each poll of the node by its instance runs one. */
type Script = ((node: FakeNode) => void)[];

/**
 * Ironic's API as far as the driver uses it, without sockets and time: each poll advances a transition by a step. Its
 * paging is that of Ironic 21.4, whose `next` link lacks filters.
 */
export class FakeIronic implements HttpClient {
  readonly nodes = new Map<string, FakeNode>();
  readonly observedRequests: ObservedRequest[] = [];
  maxLimit = 1000;
  versions = { min: "1.1", max: "1.82" };
  /** Called before each request is carried out. */
  fault: (request: ObservedRequest, index: number) => FakeFault | undefined | Promise<FakeFault | undefined> = () =>
    undefined;
  /** Called after each request that was carried out. */
  done: (request: ObservedRequest) => void | Promise<void> = () => undefined;
  /** The final state of deployments. */
  deployEnds: "active" | "deploy failed" = "active";
  validation: Record<string, unknown> = {
    deploy: { result: true },
    power: { result: true },
    storage: { result: true },
  };
  volumeTargets: string[] = [];
  readonly #scripts = new Map<string, Script>();

  add(changes: Partial<FakeNode> = {}): FakeNode {
    const at = this.nodes.size;
    const node: FakeNode = {
      uuid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
      power_state: "power off",
      target_power_state: null,
      provision_state: "available",
      target_provision_state: null,
      last_error: null,
      maintenance: false,
      properties: { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" },
      instance_uuid: null,
      traits: ["CUSTOM_BM"],
      resource_class: "baremetal",
      instance_info: {},
      vifs: [],
      ...changes,
    };
    this.nodes.set(node.uuid, node);
    return node;
  }

  /** Returns `METHOD path` of each request, without the fields and versions that all requests have. */
  requests(): readonly string[] {
    return this.observedRequests.map(({ method, path }) => `${method} ${path.replace(/fields=[^&]*/, "fields=F")}`);
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const { method, url, headers = {} } = request;
    const path = decodeURIComponent(url.replace(/^https?:\/\/[^/]+/, ""));
    const body = request.body ? JSON.parse(request.body) : undefined;
    const observed: ObservedRequest = { method, path, headers, body, tlsSection: request.tlsSection };
    const index = this.observedRequests.push(observed) - 1;
    const fault = await this.fault(observed, index);
    if (fault === "refused") {
      throw new HttpConnectFailure(url, "ECONNREFUSED");
    }
    if (typeof fault === "object") {
      return fault;
    }
    const response = this.#handle(method, new URL(url), observed);
    await this.done(observed);
    if (fault === "answer lost") {
      throw new HttpConnectFailure(url, "ECONNRESET");
    }
    return response;
  }

  /** Stops all transitions at their current step. */
  halt(): void {
    this.#scripts.clear();
  }

  async close(): Promise<void> {}

  #handle(method: string, url: URL, { body, headers }: ObservedRequest): HttpResponse {
    const [, root, collection, id, ...rest] = url.pathname.split("/");
    if (root === "") {
      return ok({ default_version: { id: "v1", min_version: this.versions.min, version: this.versions.max } });
    }
    if (collection === "") {
      return ok({ id: "v1" });
    }
    const requestedVersion = headers["x-openstack-ironic-api-version"] ?? "1.1";
    if (Number(requestedVersion.slice(2)) > Number(this.versions.max.slice(2))) {
      return fault(
        406,
        `Version ${requestedVersion} was requested but the minor version is not supported by this service.`,
      );
    }
    if (collection === "volume") {
      return this.#volume(method, rest);
    }
    if (id === undefined) {
      return this.#list(url.searchParams);
    }
    const node = this.nodes.get(id);
    if (!node) {
      return fault(404, `Node ${id} could not be found.`);
    }
    if (rest[0] === "validate") {
      return ok(this.validation);
    }
    if (rest[0] === "vifs") {
      return this.#vifs(method, node, rest[1], body);
    }
    if (rest[0] === "states") {
      return this.#states(rest[1] ?? "", node, body as Record<string, unknown>);
    }
    if (method === "PATCH") {
      return patched(node, body as PatchStep[], [...this.nodes.values()]);
    }
    return ok(toPublicNode(node));
  }

  #list(query: URLSearchParams): HttpResponse {
    const instance = query.get("instance_uuid");
    if (instance !== null) {
      const found = [...this.nodes.values()].filter((node) => node.instance_uuid === instance);
      for (const node of found) {
        this.#scripts.get(node.uuid)?.shift()?.(node);
      }
      return ok({ nodes: found.filter((node) => node.instance_uuid === instance).map(toPublicNode) });
    }
    const all = [...this.nodes.values()].filter(
      (node) =>
        (!query.has("shard") || node.shard === query.get("shard")) &&
        (!query.has("conductor_group") || (node.conductor_group ?? "") === query.get("conductor_group")),
    );
    const marker = query.get("marker");
    if (marker !== null && !this.nodes.has(marker)) {
      return fault(404, `Node ${marker} could not be found.`);
    }
    const from = marker === null ? 0 : all.findIndex(({ uuid }) => uuid === marker) + 1;
    const limit = Math.min(this.maxLimit, Number(query.get("limit") ?? this.maxLimit));
    const page = all.slice(from, from + limit);
    const next = `http://ironic/v1/nodes?fields=uuid&limit=${limit}&marker=${page.at(-1)?.uuid}`;
    return ok({ nodes: page.map(toPublicNode), ...(page.length === limit ? { next } : {}) });
  }

  #volume(method: string, [id]: readonly string[]): HttpResponse {
    if (method === "DELETE") {
      this.volumeTargets = this.volumeTargets.filter((target) => target !== id);
    }
    return method === "DELETE" ? EMPTY : ok({ targets: this.volumeTargets.map((uuid) => ({ uuid })) });
  }

  #vifs(method: string, node: FakeNode, port: string | undefined, body: unknown): HttpResponse {
    if (method === "GET") {
      return ok({ vifs: node.vifs.map((id) => ({ id })) });
    }
    if (method === "DELETE") {
      if (!node.vifs.includes(port ?? "")) {
        return fault(400, `VIF ${port} is not attached`);
      }
      node.vifs = node.vifs.filter((vif) => vif !== port);
      return EMPTY;
    }
    const { id } = body as { id: string };
    if (node.vifs.includes(id)) {
      return fault(409, `Unable to attach VIF because VIF ${id} is already attached.`);
    }
    node.vifs.push(id);
    return EMPTY;
  }

  #states(kind: string, node: FakeNode, body: Record<string, unknown>): HttpResponse {
    const target = String(body.target);
    if (kind === "power") {
      if (target.startsWith("soft") && node.properties.no_soft) {
        return fault(400, `${target} is not supported`);
      }
      node.target_power_state = target.endsWith("off") ? "power off" : "power on";
      this.#script(node, [
        () => {},
        () => {
          node.power_state = node.target_power_state;
          node.target_power_state = null;
        },
      ]);
      return { ...EMPTY, status: 202 };
    }
    const allowed = TARGETS[target]?.includes(node.provision_state ?? "") ?? false;
    if (!allowed || (node.maintenance && target === "active")) {
      return fault(
        400,
        allowed
          ? `The provision action can't be performed on node ${node.uuid} because it's in maintenance mode.`
          : `The requested action "${target}" can not be performed on node "${node.uuid}" while it is in state "${node.provision_state}".`,
      );
    }
    this.#provision(node, target);
    return { ...EMPTY, status: 202 };
  }

  #provision(node: FakeNode, target: string): void {
    const become = (state: string, goal: string | null) => {
      node.provision_state = state;
      node.target_provision_state = goal;
    };
    if (target === "active" || target === "rebuild") {
      become("deploying", "active");
      this.#script(node, [
        () => become("wait call-back", "active"),
        () => {
          become(this.deployEnds, this.deployEnds === "active" ? null : "active");
          node.last_error = this.deployEnds === "active" ? null : "the disk is on fire";
          node.power_state = "power on";
        },
      ]);
    } else if (target === "deleted") {
      become("deleting", "available");
      this.#script(node, [
        () => {},
        () => {
          node.instance_uuid = null;
          node.instance_info = {};
          become("available", null);
        },
      ]);
    } else {
      const done = target === "rescue" ? "rescue" : "active";
      become(target === "rescue" ? "rescuing" : "unrescuing", done);
      this.#script(node, [() => {}, () => become(done, null)]);
    }
  }

  #script(node: FakeNode, steps: Script): void {
    this.#scripts.set(node.uuid, steps);
  }
}

const TARGETS: Readonly<Record<string, readonly string[]>> = {
  active: ["available"],
  rebuild: ["active", "error", "deploy failed"],
  deleted: ["active", "deploying", "wait call-back", "deploy failed", "error", "rescue", "rescue failed"],
  rescue: ["active", "rescue failed"],
  unrescue: ["rescue", "rescue failed", "unrescue failed"],
};

interface PatchStep {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

const TRANSITIONS = ["deploying", "deleting", "cleaning", "rescuing", "unrescuing"];

function patched(node: FakeNode, patch: readonly PatchStep[], all: readonly FakeNode[]): HttpResponse {
  if (TRANSITIONS.includes(node.provision_state ?? "")) {
    return fault(409, `Node ${node.uuid} can not be updated while a state transition is in progress.`);
  }
  for (const { path, value } of patch) {
    if (path === "/instance_uuid") {
      const holder = all.find((other) => other !== node && other.instance_uuid === value && value !== null);
      if (holder) {
        return fault(
          409,
          `Instance ${String(value)} is already associated with a node, it cannot be associated with this other node ${node.uuid}`,
        );
      }
      if (node.instance_uuid !== null && value !== null && node.instance_uuid !== value) {
        return fault(409, `Node ${node.uuid} is associated with instance ${node.instance_uuid}.`);
      }
    }
  }
  for (const { path, value } of patch) {
    if (path === "/instance_uuid") {
      node.instance_uuid = value as string | null;
    } else if (path === "/instance_info") {
      node.instance_info = {};
    } else {
      node.instance_info[path.replace("/instance_info/", "")] = value;
    }
  }
  return ok(toPublicNode(node));
}

const toPublicNode = ({ shard: _shard, conductor_group: _group, vifs: _vifs, ...node }: FakeNode) => node;

const ok = (body: unknown): HttpResponse => ({ status: 200, headers: {}, body: JSON.stringify(body) });
const EMPTY: HttpResponse = { status: 204, headers: {}, body: "" };

/** Returns an error in Ironic's format: JSON in JSON. */
export function fault(status: number, text: string): HttpResponse {
  return {
    status,
    headers: {},
    body: JSON.stringify({
      error_message: JSON.stringify(
        status === 406 ? { code: 406, description: text } : { faultcode: "Client", faultstring: text, debuginfo: null },
      ),
    }),
  };
}

export const LOCKED = fault(
  409,
  "Node n is locked by host localhost, please retry after the current operation is completed.",
);
