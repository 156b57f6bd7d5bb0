import type { Endpoint, EndpointHarness, EndpointRequest } from "./endpoint-world.js";

export interface EndpointCase {
  readonly endpoint: Endpoint;
  readonly what: string;
  readonly ask: (world: EndpointHarness) => EndpointRequest;
}

const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
function list<T>(length: number, member: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => member(index));
}
function members(count: number, name: (index: number) => string, value: unknown): Record<string, unknown> {
  return Object.fromEntries(list(count, (index) => [name(index), value]));
}
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const text = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body));

function get(endpoint: Endpoint, what: string, target: string, headers = {}): EndpointCase {
  const [path = "", query = ""] = target.split("?");
  return { endpoint, what, ask: () => ({ method: "GET", path, query, body: "", headers }) };
}
function send(
  endpoint: Endpoint,
  what: string,
  target: string,
  body: (world: EndpointHarness) => unknown,
  headers = {},
): EndpointCase {
  const [method = "", path = ""] = target.split(" ");
  return { endpoint, what, ask: (world) => ({ method, path, query: "", body: text(body(world)), headers }) };
}
function call(what: string, method: string, params: unknown): EndpointCase {
  return {
    endpoint: "wire",
    what,
    ask: () => ({ method: "", path: "", query: "", body: text({ jsonrpc: "2.0", id: "1", method, params }) }),
  };
}

const nova = (minor: number) => ({ "openstack-api-version": `compute 2.${minor}` });
const placement = { "openstack-api-version": "placement 1.39" };
const ironic = { "x-openstack-ironic-api-version": "1.82" };
/** Max URL length of Node in bytes, about. */
const URL_BYTES = 15_000;
/** Max body size of Nova in bytes, about. */
const NOVA_BYTES = 114_000;
const SERVERS = "/v2.1/servers";
const NODE = "ba5eba11-0000-4000-8000-000000000001";
const PROVIDER = "10000000-0000-4000-8000-000000000001";

function server(more: object): unknown {
  return {
    server: {
      name: "x",
      flavorRef: "bench",
      imageRef: "c0ffee00-0000-4000-8000-000000000001",
      networks: "none",
      ...more,
    },
  };
}

const COMPUTE: readonly EndpointCase[] = [
  get("compute", "name that backtracks", `${SERVERS}?all_tenants=1&name=${"(a|a)".repeat(40)}c`),
  get("compute", "name with many states", `${SERVERS}?all_tenants=1&name=(a|b)*a(a|b){150}c`),
  get("compute", "many patterns", `${SERVERS}?${list(200, (index) => `ip=a{80}\\w${index}`).join("&")}`),
  get("compute", "many parameters", `${SERVERS}?${list(200, (index) => `a${index}`).join("&")}`, nova(90)),
  get("compute", "tags", `${SERVERS}?all_tenants=1&not-tags=${list(URL_BYTES / 3, () => "b").join(",")}`, nova(26)),
  get("compute", "1,000 servers", `${SERVERS}/detail?all_tenants=1`, nova(96)),
  send(
    "compute",
    "images to cache",
    "POST /v2.1/os-aggregates/1/images",
    () => ({
      cache: list(2_400, (index) => ({ id: uuidOf(index) })),
    }),
    nova(81),
  ),
  send(
    "compute",
    "objects to cache",
    "POST /v2.1/os-aggregates/1/images",
    () => ({
      cache: list(4_900, (index) => ({ a: index })),
    }),
    nova(81),
  ),
  send("compute", "unknown members", `POST ${SERVERS}`, () => server(members(9_900, (n) => `a${n}`, 1)), nova(96)),
  send(
    "compute",
    "metadata",
    `POST ${SERVERS}`,
    () => server({ metadata: members(9_500, (n) => `é${n}`, 1) }),
    nova(96),
  ),
  send("compute", "networks", `POST ${SERVERS}`, () => server({ networks: list(4_900, () => ({})) }), nova(96)),
  send("compute", "wrong networks", `POST ${SERVERS}`, () => server({ networks: list(9_900, () => 1) }), nova(96)),
  send("compute", "150 servers to build", `POST ${SERVERS}`, () => server({ max_count: 150 }), nova(96)),
  send("compute", "deep", `POST ${SERVERS}`, () => nested(NOVA_BYTES / 6)),
];

const IDENTITY: readonly EndpointCase[] = [
  send("identity", "methods", "POST /v3/auth/tokens", () => ({
    auth: { identity: { methods: list(9_900, () => "a") } },
  })),
  send("identity", "deep", "POST /v3/auth/tokens", () => nested(NOVA_BYTES / 6)),
  get("identity", "many parameters", `/v3/projects?${list(200, (index) => `a${index}`).join("&")}`),
  get("image", "names", `/v2/images?name=in:${list(URL_BYTES / 2, () => "a").join(",")}`),
];

function operations(count: number, operation: (index: number) => object) {
  return (): unknown => [{ op: "add", path: "/extra/list", value: list(count, () => 1) }, ...list(count, operation)];
}

const IRONIC: readonly EndpointCase[] = [
  send("ironic", "unknown members", "POST /v1/nodes", () => members(9_900, (n) => `a${n}`, 1), ironic),
  send(
    "ironic",
    "large extra",
    "POST /v1/nodes",
    () => ({
      driver: "fake-hardware",
      extra: members(9_900, (n) => `a${n}`, 1),
    }),
    ironic,
  ),
  send("ironic", "deep", "POST /v1/nodes", () => `{"driver":"fake-hardware","extra":${nested(1_000_000)}}`, ironic),
  send(
    "ironic",
    "patch",
    `PATCH /v1/nodes/${NODE}`,
    operations(1_900, () => ({ op: "add", path: "/extra/list/0", value: 1 })),
    ironic,
  ),
  send(
    "ironic",
    "wrong patch",
    `PATCH /v1/nodes/${NODE}`,
    () => list(3_000, () => ({ op: "x", path: "/extra/a" })),
    ironic,
  ),
  send(
    "ironic",
    "traits",
    `PUT /v1/nodes/${NODE}/traits`,
    () => ({ traits: list(9_900, (n) => `CUSTOM_${n}`) }),
    ironic,
  ),
  send("ironic", "state", `PUT /v1/nodes/${NODE}/states/console`, () => ({ enabled: list(4_900, () => []) }), ironic),
  send(
    "ironic",
    "long text",
    `PUT /v1/nodes/${NODE}/states/provision`,
    () => ({ target: "active", configdrive: "a".repeat(15_000_000) }),
    ironic,
  ),
  get("ironic", "fields", `/v1/nodes?fields=${list(URL_BYTES / 5, (n) => `a${n}`).join(",")}`, ironic),
  get("ironic", "1,000 nodes", "/v1/nodes/detail", ironic),
];

function allocations(count: number) {
  return Object.fromEntries(
    list(count, (index) => [
      uuidOf(index),
      {
        allocations: {
          [`10000000-0000-4000-8000-${String(index % 500).padStart(12, "0")}`]: { resources: { DISK_GB: 1 } },
        },
        project_id: "p",
        user_id: "u",
        consumer_generation: null,
        consumer_type: "INSTANCE",
      },
    ]),
  );
}

const PLACEMENT: readonly EndpointCase[] = [
  send(
    "placement",
    "aggregates",
    `PUT /resource_providers/${PROVIDER}/aggregates`,
    () => ({
      aggregates: list(39_000, uuidOf),
      resource_provider_generation: 2,
    }),
    placement,
  ),
  send(
    "placement",
    "same aggregates",
    `PUT /resource_providers/${PROVIDER}/aggregates`,
    () => ({
      aggregates: list(39_000, () => uuidOf(1)),
      resource_provider_generation: 2,
    }),
    placement,
  ),
  send(
    "placement",
    "traits",
    `PUT /resource_providers/${PROVIDER}/traits`,
    () => ({
      traits: list(39_000, (n) => `CUSTOM_${n}`),
      resource_provider_generation: 2,
    }),
    placement,
  ),
  send(
    "placement",
    "unknown members",
    `PUT /resource_providers/${PROVIDER}/inventories`,
    () => members(39_000, (n) => `a${n}`, 1),
    placement,
  ),
  send(
    "placement",
    "inventories",
    `PUT /resource_providers/${PROVIDER}/inventories`,
    () => ({
      resource_provider_generation: 2,
      inventories: members(19_000, (n) => `CUSTOM_${n}`, { total: 1 }),
    }),
    placement,
  ),
  send(
    "placement",
    "wrong inventories",
    `PUT /resource_providers/${PROVIDER}/inventories`,
    () => ({
      resource_provider_generation: 2,
      inventories: members(19_000, (n) => `CUSTOM_${n}`, {}),
    }),
    placement,
  ),
  send("placement", "1,000 consumers", "POST /allocations", () => allocations(1_000), placement),
  send("placement", "4,400 consumers", "POST /allocations", () => allocations(4_400), placement),
  send("placement", "deep", `PUT /resource_providers/${PROVIDER}/inventories`, () => nested(2_000_000), placement),
  send(
    "placement",
    "not JSON",
    `PUT /resource_providers/${PROVIDER}/inventories`,
    () => `[${"1,".repeat(39_000)}`,
    placement,
  ),
  get("placement", "trait prefix", `/traits?name=startswith:${"%A".repeat(URL_BYTES / 2)}`, placement),
  get(
    "placement",
    "many parameters",
    `/resource_providers?${list(URL_BYTES / 5, (n) => `a${n}`).join("&")}`,
    placement,
  ),
  get(
    "placement",
    "groups",
    `/allocation_candidates?group_policy=none&${list(32, (n) => `resources${n + 1}=VCPU:1`).join("&")}`,
    placement,
  ),
  get(
    "placement",
    "member_of",
    `/resource_providers?member_of=in:${list(URL_BYTES / 37, uuidOf).join(",")}`,
    placement,
  ),
];

const WIRE: readonly EndpointCase[] = [
  call("consumers under way, servers", "consumers_under_way", {
    uuids: list(5_000, (n) => `20000000-0000-4000-8000-${String(n % 2_000).padStart(12, "0")}`),
  }),
  call("consumers under way, unknown", "consumers_under_way", { uuids: list(5_000, uuidOf) }),
  call("consumers under way, short", "consumers_under_way", { uuids: list(29_000, () => "a") }),
  call("10,000 nodes by uuid", "compute_nodes_by_uuids", { uuids: list(10_000, uuidOf) }),
  call("instances by uuid", "instances_by_filters", { filters: { uuids: list(29_000, uuidOf) } }),
  call("instances on a host", "sync_instance_info", { host: "host-1", instanceUuids: list(29_000, uuidOf) }),
  call(
    "unknown members",
    "compute_node_get_by_uuid",
    members(29_000, (n) => `a${n}`, 1),
  ),
  {
    endpoint: "wire",
    what: "deep parameters",
    ask: () => ({
      method: "",
      path: "",
      query: "",
      body: `{"jsonrpc":"2.0","id":"1","method":"agent_call","params":{"host":"a","method":"prep_resize","timeout":1,"params":${nested(600_000)}}}`,
    }),
  },
  {
    endpoint: "wire",
    what: "100 lists of instances",
    ask: () => ({
      method: "",
      path: "",
      query: "",
      body: text(
        list(100, (id) => ({
          jsonrpc: "2.0",
          id: `b${id}`,
          method: "instances_by_host",
          params: { host: `host-${id}` },
        })),
      ),
    }),
  },
  {
    endpoint: "wire",
    what: "100 unknown",
    ask: () => ({ method: "", path: "", query: "", body: `[${list(100, () => "1").join(",")}]` }),
  },
];

/** Expensive requests for each endpoint: many, deeply nested, unknown, invalid or similar values. */
export const endpointCases = (): readonly EndpointCase[] => [...COMPUTE, ...IDENTITY, ...IRONIC, ...PLACEMENT, ...WIRE];
