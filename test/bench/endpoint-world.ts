import { parse } from "yaml";
import { PROTOCOL_VERSION } from "../../src/conductor-client/wire.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import type { Store } from "../../src/control-plane/store/store.js";
import type { ListenOptions, ServiceRequest } from "../../src/runtime/http-server.js";
import { createNodeLogger } from "../../src/runtime/node/node-logger.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { Socket } from "../../src/runtime/sockets.js";
import { fillCloud } from "../fixtures/large-cloud.js";
import { openControlPlane } from "../fixtures/world/control-plane.js";

export type Endpoint = "compute" | "identity" | "image" | "ironic" | "placement" | "wire";

export type EndpointRequest = Pick<ServiceRequest, "method" | "path" | "query" | "body"> & {
  readonly headers?: Readonly<Record<string, string>>;
};

/** A control plane whose endpoints are called without sockets. */
export interface EndpointHarness {
  readonly store: Store;
  /** @returns the status; for a conductor connection, a short form of the response */
  send(endpoint: Endpoint, request: EndpointRequest): Promise<string>;
  stop(): Promise<void>;
}

const MOUNTS: Readonly<Record<Exclude<Endpoint, "wire">, string>> = {
  compute: "/compute",
  identity: "/identity",
  image: "/image",
  ironic: "/baremetal",
  placement: "/placement",
};
const URL = "http://127.0.0.1:8774";

export async function openEndpointHarness(folder: string): Promise<EndpointHarness> {
  const runtime = createNodeRuntime({ logger: createNodeLogger({ level: "fatal" }) });
  const directory = stateDir(folder, "/");
  await fillCloud(directory.database, { hosts: 500, servers: 2_000, orphans: 0 });
  let listenOptions: ListenOptions | undefined;
  const controlPlane = await openControlPlane({
    runtime: {
      ...runtime,
      servers: {
        afterArrivals: (action) => runtime.servers.afterArrivals(action),
        listen: async (options) => {
          listenOptions = options;
          return { address: "127.0.0.1", port: 8774, url: URL, close: async () => undefined };
        },
      },
    },
    directory,
    serviceDeletePolicy: "upstream",
    ironicNodes: 1_000,
  });
  giveLongNames(controlPlane.store);
  const { services = {}, sockets = {} } = listenOptions ?? {};
  const callService = async (
    endpoint: Exclude<Endpoint, "wire">,
    { headers, ...request }: EndpointRequest,
    token: string,
  ) =>
    await services[MOUNTS[endpoint]]?.({
      ...request,
      headers: { "content-type": "application/json", "x-auth-token": token, ...headers },
      baseUrl: `${URL}${MOUNTS[endpoint]}`,
    });
  const clouds = parse(await runtime.files.read(directory.cloudsFile));
  const { username: name, password, project_name: project } = clouds.clouds.devstack.auth;
  const domain = { id: "default" };
  const identity = { methods: ["password"], password: { user: { name, domain, password } } };
  const login = { auth: { identity, scope: { project: { name: project, domain } } } };
  const tokens = { method: "POST", path: "/v3/auth/tokens", query: "", body: JSON.stringify(login) };
  const token = (await callService("identity", tokens, ""))?.headers["x-subject-token"] ?? "";
  const wire = await openWire(sockets["/conductor"], (await runtime.files.read(directory.joinTokenFile)).trim());
  return {
    store: controlPlane.store,
    send: async (endpoint, request) =>
      endpoint === "wire" ? wire(request.body) : String((await callService(endpoint, request, token))?.status),
    stop: () => controlPlane.stop(),
  };
}

/** Opens a conductor connection and sends session_hello. */
async function openWire(
  accept: NonNullable<ListenOptions["sockets"]>[string] | undefined,
  joinToken: string,
): Promise<(frame: string) => Promise<string>> {
  let take: (text: string) => void = () => undefined;
  let onReply: (text: string) => void = () => undefined;
  const closed = () => onReply("connection closed");
  const socket: Socket = {
    send: (text) => onReply(text),
    afterTurn: (action) => action(),
    close: closed,
    terminate: closed,
    onMessage: (listener) => {
      take = listener;
    },
    onClose: () => undefined,
    ping: () => undefined,
    onPong: () => undefined,
    bufferedBytes: 0,
  };
  accept?.(socket, { headers: { authorization: `Bearer ${joinToken}` }, query: "", origin: "http://127.0.0.1" });
  const send = (frame: string) =>
    new Promise<string>((resolve) => {
      onReply = (text) => resolve(/"error":\{"code":(-\d+)/.exec(text.slice(0, 200))?.[1] ?? text.slice(0, 8));
      take(frame);
    });
  const bootId = "00000000-0000-4000-8000-000000000001";
  const params = { protocol: PROTOCOL_VERSION, bootId, pid: process.pid, machine: "bench", version: "bench" };
  await send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session_hello", params }));
  return send;
}

/** Sets names that are expensive to match: maximum length, with two random letters. */
function giveLongNames(store: Store): void {
  let seed = 1;
  const letter = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed < 2 ** 30 ? "a" : "b";
  };
  store.transaction(() => {
    for (const { uuid } of store.instances.names({})) {
      store.instances.save(uuid, { displayName: Array.from({ length: 255 }, letter).join("") });
    }
  });
}
