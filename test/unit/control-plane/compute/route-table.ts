/** The door lets pass: everybody, callers who may see the project, who may change it, or administrators of the deployment only. */
type Level = "nobody" | "reader" | "member" | "admin";

/** One way into the Compute API. `{server}` … are filled in; the default microversion is 2.72. */
export interface Door {
  readonly level: Level;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly version?: number;
}

function door(level: Level, method: string, path: string, body?: unknown, version?: number): Door {
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

const SERVERS: readonly Door[] = [
  door("member", "POST", "/servers", {
    server: { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none" },
  }),
  door("reader", "GET", "/servers"),
  door("reader", "GET", "/servers/detail"),
  door("reader", "GET", "/servers/{server}"),
  door("member", "PUT", "/servers/{server}", { server: { name: "new" } }),
  door("member", "DELETE", "/servers/{server}"),
  door("reader", "GET", "/servers/{server}/os-instance-actions"),
  door("reader", "GET", "/servers/{server}/os-instance-actions/req-1"),
  door("reader", "GET", "/servers/{server}/metadata"),
  door("member", "POST", "/servers/{server}/metadata", { metadata: { a: "b" } }),
  door("member", "PUT", "/servers/{server}/metadata", { metadata: { a: "b" } }),
  door("reader", "GET", "/servers/{server}/metadata/key"),
  door("member", "PUT", "/servers/{server}/metadata/key", { meta: { key: "b" } }),
  door("member", "DELETE", "/servers/{server}/metadata/key"),
  door("reader", "GET", "/servers/{server}/tags"),
  door("member", "PUT", "/servers/{server}/tags", { tags: ["a"] }),
  door("member", "DELETE", "/servers/{server}/tags"),
  door("reader", "GET", "/servers/{server}/tags/a"),
  door("member", "PUT", "/servers/{server}/tags/a"),
  door("member", "DELETE", "/servers/{server}/tags/a"),
  door("reader", "GET", "/servers/{server}/ips"),
  door("reader", "GET", "/servers/{server}/ips/private"),
  door("reader", "GET", "/servers/{server}/os-interface"),
  door("reader", "GET", `/servers/{server}/os-interface/${CIRROS}`),
  door("member", "POST", "/servers/{server}/os-interface", { interfaceAttachment: {} }),
  door("member", "DELETE", `/servers/{server}/os-interface/${CIRROS}`),
  door("reader", "GET", "/servers/{server}/os-volume_attachments"),
  door("reader", "GET", "/servers/{server}/os-security-groups"),
  door("admin", "GET", "/servers/{server}/migrations"),
  door("admin", "GET", "/servers/{server}/migrations/1"),
  door("admin", "POST", "/servers/{server}/migrations/1/action", { force_complete: null }),
  door("admin", "DELETE", "/servers/{server}/migrations/1"),
  door("admin", "GET", "/servers/{server}/diagnostics"),
  door("reader", "GET", "/servers/{server}/os-server-password"),
  door("member", "DELETE", "/servers/{server}/os-server-password"),
  door(
    "member",
    "POST",
    "/servers/{server}/remote-consoles",
    { remote_console: { protocol: "vnc", type: "novnc" } },
    6,
  ),
  door("admin", "GET", "/os-console-auth-tokens/abc"),
];

function action(level: Level, body: unknown, version?: number): Door {
  return door(level, "POST", "/servers/{server}/action", body, version);
}

const ACTIONS: readonly Door[] = [
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
  door("reader", "GET", "/servers/{server}/topology", undefined, 78),
];

const FLAVORS: readonly Door[] = [
  door("admin", "POST", "/flavors", { flavor: { name: "new", ram: 64, vcpus: 1, disk: 0 } }),
  door("reader", "GET", "/flavors"),
  door("reader", "GET", "/flavors/detail"),
  door("reader", "GET", "/flavors/1"),
  door("admin", "PUT", "/flavors/1", { flavor: { description: "new" } }),
  door("admin", "DELETE", "/flavors/1"),
  door("admin", "GET", "/flavors/1/os-flavor-access"),
  door("admin", "POST", "/flavors/1/action", { addTenantAccess: { tenant: "{project}" } }),
  door("reader", "GET", "/flavors/1/os-extra_specs"),
  door("admin", "POST", "/flavors/1/os-extra_specs", { extra_specs: { a: "b" } }),
  door("reader", "GET", "/flavors/1/os-extra_specs/key"),
  door("admin", "PUT", "/flavors/1/os-extra_specs/key", { key: "b" }),
  door("admin", "DELETE", "/flavors/1/os-extra_specs/key"),
];

const DEPLOYMENT: readonly Door[] = [
  door("admin", "GET", "/os-services"),
  door("admin", "PUT", "/os-services/{service}", { status: "disabled" }),
  door("admin", "DELETE", "/os-services/{service}"),
  door("reader", "GET", "/os-availability-zone"),
  door("admin", "GET", "/os-availability-zone/detail"),
  door("admin", "GET", "/os-aggregates"),
  door("admin", "POST", "/os-aggregates", { aggregate: { name: "new" } }),
  door("admin", "GET", "/os-aggregates/1"),
  door("admin", "PUT", "/os-aggregates/1", { aggregate: { name: "new" } }),
  door("admin", "DELETE", "/os-aggregates/1"),
  door("admin", "POST", "/os-aggregates/1/action", { add_host: { host: "devstack1" } }),
  door("admin", "POST", "/os-aggregates/1/action", { remove_host: { host: "devstack1" } }),
  door("admin", "POST", "/os-aggregates/1/action", { set_metadata: { metadata: { a: "b" } } }),
  door("admin", "POST", "/os-aggregates/1/images", { cache: [{ id: CIRROS }] }, 81),
  door("admin", "GET", "/os-hypervisors"),
  door("admin", "GET", "/os-hypervisors/detail"),
  door("admin", "GET", "/os-hypervisors/statistics"),
  door("admin", "GET", "/os-hypervisors/{node}"),
  door("admin", "GET", "/os-hypervisors/{node}/uptime"),
  door("admin", "GET", "/os-hypervisors/devstack/search", undefined, 52),
  door("admin", "GET", "/os-hypervisors/devstack/servers", undefined, 52),
  door("admin", "GET", "/os-hosts", undefined, 42),
  door("admin", "GET", "/os-hosts/devstack1", undefined, 42),
  door("admin", "PUT", "/os-hosts/devstack1", { status: "enable" }, 42),
  door("admin", "GET", "/os-hosts/devstack1/startup", undefined, 42),
  door("admin", "GET", "/os-hosts/devstack1/shutdown", undefined, 42),
  door("admin", "GET", "/os-hosts/devstack1/reboot", undefined, 42),
  door("admin", "GET", "/os-simple-tenant-usage"),
  door("reader", "GET", "/os-simple-tenant-usage/{project}"),
  door("admin", "GET", "/os-instance_usage_audit_log"),
  door("admin", "GET", "/os-instance_usage_audit_log/2026-11-25%2012:00:00"),
  door("nobody", "GET", "/extensions"),
  door("nobody", "GET", "/extensions/os-hosts"),
  door("admin", "GET", "/os-migrations"),
  door("nobody", "GET", "/limits"),
  door("reader", "GET", "/os-quota-sets/{project}"),
  door("admin", "PUT", "/os-quota-sets/{project}", { quota_set: { cores: 40 } }),
  door("admin", "DELETE", "/os-quota-sets/{project}"),
  door("nobody", "GET", "/os-quota-sets/{project}/defaults"),
  door("reader", "GET", "/os-quota-sets/{project}/detail"),
  door("admin", "GET", "/os-quota-class-sets/default"),
  door("admin", "PUT", "/os-quota-class-sets/default", { quota_class_set: { cores: 40 } }),
  door("nobody", "GET", "/os-keypairs"),
  door("nobody", "POST", "/os-keypairs", { keypair: { name: "key", public_key: ED25519 } }),
  door("nobody", "GET", "/os-keypairs/key"),
  door("nobody", "DELETE", "/os-keypairs/key"),
  door("reader", "GET", "/os-server-groups"),
  door("member", "POST", "/os-server-groups", { server_group: { name: "apart", policy: "anti-affinity" } }),
  door("reader", "GET", "/os-server-groups/{group}"),
  door("member", "DELETE", "/os-server-groups/{group}"),
];

const METADATA = `/images/${CIRROS}/metadata`;

/** Routes of images, whose door is the Image API's: it sees the caller's own token. */
const IMAGES: readonly Door[] = [
  door("reader", "GET", "/images", undefined, 35),
  door("reader", "GET", "/images/detail", undefined, 35),
  door("nobody", "GET", `/images/${CIRROS}`, undefined, 35),
  door("nobody", "DELETE", `/images/${CIRROS}`, undefined, 35),
  door("nobody", "GET", METADATA, undefined, 38),
  door("nobody", "POST", METADATA, { metadata: { a: "b" } }, 38),
  door("nobody", "PUT", METADATA, { metadata: { a: "b" } }, 38),
  door("nobody", "GET", `${METADATA}/a`, undefined, 38),
  door("nobody", "PUT", `${METADATA}/a`, { meta: { a: "b" } }, 38),
  door("nobody", "DELETE", `${METADATA}/a`, undefined, 38),
];

/** A route that Nova passes on to another service, by the last microversion that has it. */
function proxy(level: Level, method: string, path: string, body?: unknown): Door {
  return door(level, method, path, body, 35);
}

const PROXIES: readonly Door[] = [
  ...["os-networks", "os-tenant-networks"].flatMap((name) => [
    proxy("reader", "GET", `/${name}`),
    proxy("reader", "GET", `/${name}/${CIRROS}`),
    proxy("nobody", "POST", `/${name}`, { network: {} }),
    proxy("nobody", "DELETE", `/${name}/${CIRROS}`),
  ]),
  door("admin", "POST", "/os-server-external-events", {
    events: [{ server_uuid: "{server}", name: "network-changed" }],
  }),
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

export const DOORS: readonly Door[] = [...SERVERS, ...ACTIONS, ...FLAVORS, ...DEPLOYMENT, ...IMAGES, ...PROXIES];
