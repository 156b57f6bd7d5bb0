import { serverId } from "../fixtures/large-cloud.js";

/** A read as a client sends it, below the control plane's address. */
export interface Read {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const COMPUTE = { "openstack-api-version": "compute 2.96" };
const PLACEMENT = { "openstack-api-version": "placement 1.39" };
const PLAIN = {};

/** A path with the n-th server or host of the cloud in it, by how many of a hundred reads are such. */
const MIX: readonly (readonly [share: number, kind: string, path: (n: number) => string, headers: Read["headers"]])[] =
  [
    [28, "server show", (n) => `/compute/v2.1/servers/${serverId(n)}`, COMPUTE],
    [8, "server list, 20 of them", () => "/compute/v2.1/servers?all_tenants=1&limit=20", COMPUTE],
    [3, "server list, 20 in full", () => "/compute/v2.1/servers/detail?all_tenants=1&limit=20", COMPUTE],
    [1, "server list by name", (n) => `/compute/v2.1/servers?all_tenants=1&name=vm${n}$`, COMPUTE],
    [6, "server events", (n) => `/compute/v2.1/servers/${serverId(n)}/os-instance-actions`, COMPUTE],
    [6, "flavors", () => "/compute/v2.1/flavors/detail", COMPUTE],
    [6, "key pairs", () => "/compute/v2.1/os-keypairs", COMPUTE],
    [3, "limits", () => "/compute/v2.1/limits", COMPUTE],
    [2, "services", () => "/compute/v2.1/os-services?binary=nova-compute&host=host-1", COMPUTE],
    [3, "hypervisor list, 20 of them", () => "/compute/v2.1/os-hypervisors?limit=20", COMPUTE],
    [1, "availability zones", () => "/compute/v2.1/os-availability-zone", COMPUTE],
    [6, "images", () => "/image/v2/images", PLAIN],
    [9, "token validation", () => "/identity/v3/auth/tokens", PLAIN],
    [5, "projects", () => "/identity/v3/auth/projects", PLAIN],
    [9, "allocations", (n) => `/placement/allocations/${serverId(n)}`, PLACEMENT],
    [4, "resource provider by name", (n) => `/placement/resource_providers?name=host-${n % 100}`, PLACEMENT],
  ];

/** The reads one after the other without end, spread so that neighbours differ. */
export function* mixedReads(token: string, servers: number): Generator<{ readonly kind: string; readonly read: Read }> {
  const hundred = MIX.flatMap(([share, kind, path, headers]) => {
    return Array.from({ length: share }, (_, index) => ({ at: (index + 0.5) / share, kind, path, headers }));
  });
  hundred.sort((left, right) => left.at - right.at);
  for (let n = 0; ; n += 1) {
    const { kind, path, headers } = hundred[n % hundred.length] as (typeof hundred)[number];
    // A step that has no divisor with the number of servers visits them all.
    const read = { path: path((n * 389) % servers), headers };
    yield { kind, read: { ...read, headers: { ...headers, "x-auth-token": token, "x-subject-token": token } } };
  }
}
