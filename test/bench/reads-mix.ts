import { serverId } from "../fixtures/large-cloud.js";

/** A client's read, relative to the control plane's URL. */
export interface Read {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const COMPUTE = { "openstack-api-version": "compute 2.96" };
const PLACEMENT = { "openstack-api-version": "placement 1.39" };
const PLAIN = {};

interface Kind {
  /** Percentage of this kind among all reads. */
  readonly share: number;
  readonly kind: string;
  /** Returns a path with the n-th server or host of the cloud. */
  readonly path: (n: number) => string;
  readonly headers: Read["headers"];
}

function kindOf(share: number, kind: string, path: Kind["path"], headers: Read["headers"]): Kind {
  return { share, kind, path, headers };
}

export const KINDS: readonly Kind[] = [
  kindOf(28, "server show", (n) => `/compute/v2.1/servers/${serverId(n)}`, COMPUTE),
  kindOf(8, "server list, 20 of them", () => "/compute/v2.1/servers?all_tenants=1&limit=20", COMPUTE),
  kindOf(3, "server list, 20 in full", () => "/compute/v2.1/servers/detail?all_tenants=1&limit=20", COMPUTE),
  kindOf(1, "server list by name", (n) => `/compute/v2.1/servers?all_tenants=1&name=vm${n}$`, COMPUTE),
  kindOf(6, "server events", (n) => `/compute/v2.1/servers/${serverId(n)}/os-instance-actions`, COMPUTE),
  kindOf(6, "flavors", () => "/compute/v2.1/flavors/detail", COMPUTE),
  kindOf(6, "key pairs", () => "/compute/v2.1/os-keypairs", COMPUTE),
  kindOf(3, "limits", () => "/compute/v2.1/limits", COMPUTE),
  kindOf(2, "services", () => "/compute/v2.1/os-services?binary=nova-compute&host=host-1", COMPUTE),
  kindOf(3, "hypervisor list, 20 of them", () => "/compute/v2.1/os-hypervisors?limit=20", COMPUTE),
  kindOf(1, "availability zones", () => "/compute/v2.1/os-availability-zone", COMPUTE),
  kindOf(6, "images", () => "/image/v2/images", PLAIN),
  kindOf(9, "token validation", () => "/identity/v3/auth/tokens", PLAIN),
  kindOf(5, "projects", () => "/identity/v3/auth/projects", PLAIN),
  kindOf(9, "allocations", (n) => `/placement/allocations/${serverId(n)}`, PLACEMENT),
  kindOf(4, "resource provider by name", (n) => `/placement/resource_providers?name=host-${n % 100}`, PLACEMENT),
];

/** Coprime with the number of servers, so that all are visited. */
const STEP = 389;

function readOf({ path, headers }: Kind, n: number, token: string, servers: number): Read {
  return {
    path: path((n * STEP) % servers),
    headers: { ...headers, "x-auth-token": token, "x-subject-token": token },
  };
}

/** Yields the mixed reads endlessly, distributed so that consecutive reads differ. */
export function* mixedReads(token: string, servers: number): Generator<{ readonly kind: string; readonly read: Read }> {
  const hundred = KINDS.flatMap((kind) => {
    return Array.from({ length: kind.share }, (_, index) => ({ at: (index + 0.5) / kind.share, kind }));
  });
  hundred.sort((left, right) => left.at - right.at);
  for (let n = 0; ; n += 1) {
    const { kind } = hundred[n % hundred.length] as (typeof hundred)[number];
    yield { kind: kind.kind, read: readOf(kind, n, token, servers) };
  }
}

/** Yields reads of one kind endlessly. */
export function* readsOf(kind: string, token: string, servers: number): Generator<Read> {
  const found = KINDS.find((each) => each.kind === kind) as Kind;
  for (let n = 0; ; n += 1) {
    yield readOf(found, n, token, servers);
  }
}
