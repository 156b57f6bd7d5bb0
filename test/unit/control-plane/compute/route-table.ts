/**
 * Callers that a route admits: all, those who may read the project, those who may change it, or administrators only.
 */
type Level = "nobody" | "reader" | "member" | "admin";

/** A route of the Compute API. Placeholders such as `{server}` are replaced. The default microversion is 2.72. */
export interface Endpoint {
  readonly level: Level;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly version?: number;
}

function createEndpoint(level: Level, method: string, path: string, body?: unknown, version?: number): Endpoint {
  return {
    level,
    method,
    path,
    body,
    ...(version === undefined ? {} : { version }),
  };
}

const ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUWjb0A9Jmc0XqpbdGLOeC+ZLfo4U9nPZkaiUkqZdrF";
const CIRROS = "c0ffee00-0000-4000-8000-000000000001";

const ATTACHMENT = { volumeAttachment: { volumeId: CIRROS } };

const SERVERS: readonly Endpoint[] = [
  createEndpoint("member", "POST", "/servers", {
    server: { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none" },
  }),
  createEndpoint("reader", "GET", "/servers"),
  createEndpoint("reader", "GET", "/servers/detail"),
  createEndpoint("reader", "GET", "/servers/{server}"),
  createEndpoint("member", "PUT", "/servers/{server}", { server: { name: "new" } }),
  createEndpoint("member", "DELETE", "/servers/{server}"),
  createEndpoint("reader", "GET", "/servers/{server}/os-instance-actions"),
  createEndpoint("reader", "GET", "/servers/{server}/os-instance-actions/req-1"),
  createEndpoint("reader", "GET", "/servers/{server}/metadata"),
  createEndpoint("member", "POST", "/servers/{server}/metadata", { metadata: { a: "b" } }),
  createEndpoint("member", "PUT", "/servers/{server}/metadata", { metadata: { a: "b" } }),
  createEndpoint("reader", "GET", "/servers/{server}/metadata/key"),
  createEndpoint("member", "PUT", "/servers/{server}/metadata/key", { meta: { key: "b" } }),
  createEndpoint("member", "DELETE", "/servers/{server}/metadata/key"),
  createEndpoint("reader", "GET", "/servers/{server}/tags"),
  createEndpoint("member", "PUT", "/servers/{server}/tags", { tags: ["a"] }),
  createEndpoint("member", "DELETE", "/servers/{server}/tags"),
  createEndpoint("reader", "GET", "/servers/{server}/tags/a"),
  createEndpoint("member", "PUT", "/servers/{server}/tags/a"),
  createEndpoint("member", "DELETE", "/servers/{server}/tags/a"),
  createEndpoint("reader", "GET", "/servers/{server}/ips"),
  createEndpoint("reader", "GET", "/servers/{server}/ips/private"),
  createEndpoint("reader", "GET", "/servers/{server}/os-interface"),
  createEndpoint("reader", "GET", `/servers/{server}/os-interface/${CIRROS}`),
  createEndpoint("member", "POST", "/servers/{server}/os-interface", { interfaceAttachment: {} }),
  createEndpoint("member", "DELETE", `/servers/{server}/os-interface/${CIRROS}`),
  createEndpoint("reader", "GET", "/servers/{server}/os-volume_attachments"),
  createEndpoint("member", "POST", "/servers/{server}/os-volume_attachments", ATTACHMENT),
  createEndpoint("reader", "GET", `/servers/{server}/os-volume_attachments/${CIRROS}`),
  createEndpoint("admin", "PUT", `/servers/{server}/os-volume_attachments/${CIRROS}`, ATTACHMENT),
  createEndpoint("member", "PUT", `/servers/{server}/os-volume_attachments/${CIRROS}`, ATTACHMENT, 85),
  createEndpoint("member", "DELETE", `/servers/{server}/os-volume_attachments/${CIRROS}`),
  createEndpoint("reader", "GET", "/servers/{server}/os-security-groups"),
  createEndpoint("admin", "GET", "/servers/{server}/migrations"),
  createEndpoint("admin", "GET", "/servers/{server}/migrations/1"),
  createEndpoint("admin", "POST", "/servers/{server}/migrations/1/action", { force_complete: null }),
  createEndpoint("admin", "DELETE", "/servers/{server}/migrations/1"),
  createEndpoint("admin", "GET", "/servers/{server}/diagnostics"),
  createEndpoint("reader", "GET", "/servers/{server}/os-server-password"),
  createEndpoint("member", "DELETE", "/servers/{server}/os-server-password"),
  createEndpoint(
    "member",
    "POST",
    "/servers/{server}/remote-consoles",
    { remote_console: { protocol: "vnc", type: "novnc" } },
    6,
  ),
  createEndpoint("admin", "GET", "/os-console-auth-tokens/abc"),
];

function action(level: Level, body: unknown, version?: number): Endpoint {
  return createEndpoint(level, "POST", "/servers/{server}/action", body, version);
}

const ACTIONS: readonly Endpoint[] = [
  action("member", { "os-start": null }),
  action("member", { "os-stop": null }),
  action("member", { reboot: { type: "SOFT" } }),
  action("member", { pause: null }),
  action("member", { unpause: null }),
  action("member", { suspend: null }),
  action("member", { resume: null }),
  action("member", { rescue: null }),
  action("member", { unrescue: null }),
  action("member", { lock: null }),
  action("member", { unlock: null }),
  action("admin", { "os-resetState": { state: "error" } }),
  action("admin", { migrate: null }),
  action("member", { resize: { flavorRef: "2" } }),
  action("member", { confirmResize: null }),
  action("member", { revertResize: null }),
  action("admin", { "os-migrateLive": { host: null, block_migration: "auto" } }),
  action("admin", { evacuate: { host: "devstack2" } }),
  action("member", { rebuild: { imageRef: CIRROS } }),
  action("member", { shelve: null }),
  action("admin", { shelveOffload: null }),
  action("member", { unshelve: null }),
  action("member", { createImage: { name: "copy" } }),
  action("member", { createBackup: { name: "copy", backup_type: "daily", rotation: 1 } }),
  action("member", { addSecurityGroup: { name: "default" } }),
  action("member", { removeSecurityGroup: { name: "default" } }),
  action("member", { restore: null }),
  action("member", { "os-getConsoleOutput": {} }),
  action("member", { "os-getVNCConsole": { type: "novnc" } }, 5),
  action("member", { "os-getSPICEConsole": { type: "spice-html5" } }, 5),
  action("member", { "os-getRDPConsole": { type: "rdp-html5" } }, 5),
  action("member", { "os-getSerialConsole": { type: "serial" } }, 5),
  action("member", { forceDelete: null }),
  action("admin", { injectNetworkInfo: null }),
  action("member", { trigger_crash_dump: null }),
  action("member", { addFixedIp: { networkId: "any" } }, 43),
  action("member", { removeFixedIp: { address: "10.0.0.9" } }, 43),
  createEndpoint("reader", "GET", "/servers/{server}/topology", undefined, 78),
];

const FLAVORS: readonly Endpoint[] = [
  createEndpoint("admin", "POST", "/flavors", { flavor: { name: "new", ram: 64, vcpus: 1, disk: 0 } }),
  createEndpoint("reader", "GET", "/flavors"),
  createEndpoint("reader", "GET", "/flavors/detail"),
  createEndpoint("reader", "GET", "/flavors/1"),
  createEndpoint("admin", "PUT", "/flavors/1", { flavor: { description: "new" } }),
  createEndpoint("admin", "DELETE", "/flavors/1"),
  createEndpoint("admin", "GET", "/flavors/1/os-flavor-access"),
  createEndpoint("admin", "POST", "/flavors/1/action", { addTenantAccess: { tenant: "{project}" } }),
  createEndpoint("reader", "GET", "/flavors/1/os-extra_specs"),
  createEndpoint("admin", "POST", "/flavors/1/os-extra_specs", { extra_specs: { a: "b" } }),
  createEndpoint("reader", "GET", "/flavors/1/os-extra_specs/key"),
  createEndpoint("admin", "PUT", "/flavors/1/os-extra_specs/key", { key: "b" }),
  createEndpoint("admin", "DELETE", "/flavors/1/os-extra_specs/key"),
];

const DEPLOYMENT: readonly Endpoint[] = [
  createEndpoint("admin", "GET", "/os-services"),
  createEndpoint("admin", "PUT", "/os-services/{service}", { status: "disabled" }),
  createEndpoint("admin", "DELETE", "/os-services/{service}"),
  createEndpoint("reader", "GET", "/os-availability-zone"),
  createEndpoint("admin", "GET", "/os-availability-zone/detail"),
  createEndpoint("admin", "GET", "/os-aggregates"),
  createEndpoint("admin", "POST", "/os-aggregates", { aggregate: { name: "new" } }),
  createEndpoint("admin", "GET", "/os-aggregates/1"),
  createEndpoint("admin", "PUT", "/os-aggregates/1", { aggregate: { name: "new" } }),
  createEndpoint("admin", "DELETE", "/os-aggregates/1"),
  createEndpoint("admin", "POST", "/os-aggregates/1/action", { add_host: { host: "devstack1" } }),
  createEndpoint("admin", "POST", "/os-aggregates/1/action", { remove_host: { host: "devstack1" } }),
  createEndpoint("admin", "POST", "/os-aggregates/1/action", { set_metadata: { metadata: { a: "b" } } }),
  createEndpoint("admin", "POST", "/os-aggregates/1/images", { cache: [{ id: CIRROS }] }, 81),
  createEndpoint("admin", "GET", "/os-hypervisors"),
  createEndpoint("admin", "GET", "/os-hypervisors/detail"),
  createEndpoint("admin", "GET", "/os-hypervisors/statistics"),
  createEndpoint("admin", "GET", "/os-hypervisors/{node}"),
  createEndpoint("admin", "GET", "/os-hypervisors/{node}/uptime"),
  createEndpoint("admin", "GET", "/os-hypervisors/devstack/search", undefined, 52),
  createEndpoint("admin", "GET", "/os-hypervisors/devstack/servers", undefined, 52),
  createEndpoint("admin", "GET", "/os-hosts", undefined, 42),
  createEndpoint("admin", "GET", "/os-hosts/devstack1", undefined, 42),
  createEndpoint("admin", "PUT", "/os-hosts/devstack1", { status: "enable" }, 42),
  createEndpoint("admin", "GET", "/os-hosts/devstack1/startup", undefined, 42),
  createEndpoint("admin", "GET", "/os-hosts/devstack1/shutdown", undefined, 42),
  createEndpoint("admin", "GET", "/os-hosts/devstack1/reboot", undefined, 42),
  createEndpoint("admin", "GET", "/os-simple-tenant-usage"),
  createEndpoint("reader", "GET", "/os-simple-tenant-usage/{project}"),
  createEndpoint("admin", "GET", "/os-instance_usage_audit_log"),
  createEndpoint("admin", "GET", "/os-instance_usage_audit_log/2026-11-25%2012:00:00"),
  createEndpoint("nobody", "GET", "/extensions"),
  createEndpoint("nobody", "GET", "/extensions/os-hosts"),
  createEndpoint("admin", "GET", "/os-migrations"),
  createEndpoint("nobody", "GET", "/limits"),
  createEndpoint("reader", "GET", "/os-quota-sets/{project}"),
  createEndpoint("admin", "PUT", "/os-quota-sets/{project}", { quota_set: { cores: 40 } }),
  createEndpoint("admin", "DELETE", "/os-quota-sets/{project}"),
  createEndpoint("nobody", "GET", "/os-quota-sets/{project}/defaults"),
  createEndpoint("reader", "GET", "/os-quota-sets/{project}/detail"),
  createEndpoint("admin", "GET", "/os-quota-class-sets/default"),
  createEndpoint("admin", "PUT", "/os-quota-class-sets/default", { quota_class_set: { cores: 40 } }),
  createEndpoint("nobody", "GET", "/os-keypairs"),
  createEndpoint("nobody", "POST", "/os-keypairs", { keypair: { name: "key", public_key: ED25519 } }),
  createEndpoint("nobody", "GET", "/os-keypairs/key"),
  createEndpoint("nobody", "DELETE", "/os-keypairs/key"),
  createEndpoint("reader", "GET", "/os-server-groups"),
  createEndpoint("member", "POST", "/os-server-groups", { server_group: { name: "apart", policy: "anti-affinity" } }),
  createEndpoint("reader", "GET", "/os-server-groups/{group}"),
  createEndpoint("member", "DELETE", "/os-server-groups/{group}"),
];

const METADATA = `/images/${CIRROS}/metadata`;

/** Routes of images, which the Image API authorizes with the caller's token. */
const IMAGES: readonly Endpoint[] = [
  createEndpoint("reader", "GET", "/images", undefined, 35),
  createEndpoint("reader", "GET", "/images/detail", undefined, 35),
  createEndpoint("nobody", "GET", `/images/${CIRROS}`, undefined, 35),
  createEndpoint("nobody", "DELETE", `/images/${CIRROS}`, undefined, 35),
  createEndpoint("nobody", "GET", METADATA, undefined, 38),
  createEndpoint("nobody", "POST", METADATA, { metadata: { a: "b" } }, 38),
  createEndpoint("nobody", "PUT", METADATA, { metadata: { a: "b" } }, 38),
  createEndpoint("nobody", "GET", `${METADATA}/a`, undefined, 38),
  createEndpoint("nobody", "PUT", `${METADATA}/a`, { meta: { a: "b" } }, 38),
  createEndpoint("nobody", "DELETE", `${METADATA}/a`, undefined, 38),
];

/** Creates an endpoint that Nova proxies to another service, up to its last microversion. */
function proxy(level: Level, method: string, path: string, body?: unknown): Endpoint {
  return createEndpoint(level, method, path, body, 35);
}

const PROXIES: readonly Endpoint[] = [
  ...["os-networks", "os-tenant-networks"].flatMap((name) => [
    proxy("reader", "GET", `/${name}`),
    proxy("reader", "GET", `/${name}/${CIRROS}`),
    proxy("nobody", "POST", `/${name}`, { network: {} }),
    proxy("nobody", "DELETE", `/${name}/${CIRROS}`),
  ]),
  createEndpoint("admin", "POST", "/os-server-external-events", {
    events: [{ server_uuid: "{server}", name: "network-changed" }],
  }),
  ...[
    { name: "volume", body: { volume: { size: 1 } } },
    { name: "snapshot", body: { snapshot: { volume_id: CIRROS } } },
  ].flatMap(({ name, body }) => [
    proxy("reader", "GET", `/os-${name}s`),
    proxy("reader", "GET", `/os-${name}s/detail`),
    proxy("reader", "GET", `/os-${name}s/${CIRROS}`),
    proxy("member", "POST", `/os-${name}s`, body),
    proxy("member", "DELETE", `/os-${name}s/${CIRROS}`),
  ]),
  createEndpoint("admin", "POST", "/os-assisted-volume-snapshots", {
    snapshot: { volume_id: CIRROS, create_info: { snapshot_id: CIRROS, type: "qcow2", new_file: "file" } },
  }),
  createEndpoint("admin", "DELETE", `/os-assisted-volume-snapshots/${CIRROS}`),
  proxy("reader", "GET", "/os-floating-ips"),
  proxy("reader", "GET", "/os-floating-ips/1"),
  proxy("member", "POST", "/os-floating-ips", {}),
  proxy("member", "DELETE", "/os-floating-ips/1"),
  proxy("reader", "GET", "/os-floating-ip-pools"),
  proxy("reader", "GET", "/os-security-groups"),
  proxy("member", "POST", "/os-security-groups", { security_group: { name: "web", description: "" } }),
  proxy("reader", "GET", `/os-security-groups/${CIRROS}`),
  proxy("member", "PUT", `/os-security-groups/${CIRROS}`, { security_group: { name: "web", description: "" } }),
  proxy("member", "DELETE", `/os-security-groups/${CIRROS}`),
  proxy("member", "POST", "/os-security-group-rules", { security_group_rule: { parent_group_id: CIRROS } }),
  proxy("member", "DELETE", `/os-security-group-rules/${CIRROS}`),
];

export const ENDPOINTS: readonly Endpoint[] = [
  ...SERVERS,
  ...ACTIONS,
  ...FLAVORS,
  ...DEPLOYMENT,
  ...IMAGES,
  ...PROXIES,
];
