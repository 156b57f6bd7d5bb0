import type { Cluster } from "./cluster.js";
import { hasWords } from "./filters.js";
import { shortId } from "./format.js";

const VIEWS = [
  "hosts",
  "servers",
  "networks",
  "ports",
  "placement",
  "consumers",
  "requests",
  "logs",
  "try",
  "snapshots",
  "findings",
] as const;

export type View = (typeof VIEWS)[number];

/** Views of lists alone, without a view of one object. */
const LISTS: readonly View[] = ["ports", "requests", "logs", "snapshots"];

export const VIEW_NAMES: Readonly<Record<Route["view"], string>> = {
  hosts: "Hosts",
  servers: "Servers",
  networks: "Networks",
  ports: "Networks",
  placement: "Placement",
  consumers: "Placement",
  requests: "Requests",
  logs: "Logs",
  try: "Try it",
  snapshots: "Snapshots",
  findings: "Findings",
  unknown: "Not found",
};

/** The page's location: `#/hosts/devstack1?state=down`. */
export interface Route {
  /** `unknown`: the address names no view. */
  readonly view: View | "unknown";
  /** Id of one object; null for the list. For an unknown view, the address. */
  readonly of: string | null;
  readonly filter: Readonly<Record<string, string>>;
}

const isView = (name: string | undefined): name is View => VIEWS.some((view) => view === name);

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view, of = "", ...more] = path.replace(/\/$/, "").split("/");
  if (path === "") {
    return { view: "hosts", of: null, filter: {} };
  }
  if (!isView(view) || more.length > 0 || (of !== "" && LISTS.includes(view))) {
    return { view: "unknown", of: decoded(path), filter: {} };
  }
  return { view, of: of === "" ? null : decoded(of), filter: Object.fromEntries(new URLSearchParams(query)) };
}

export function hashOf(view: View, of: string | null = null, filter: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  return `#/${view}${of === null ? "" : `/${encodeURIComponent(of)}`}${query === "" ? "" : `?${query}`}`;
}

/** Tolerates a link that was truncated within an encoded character. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export interface Found {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly view: View;
  readonly of: string | null;
  readonly filter: Readonly<Record<string, string>>;
}

/** Returns hosts first, then servers, networks, ports, providers and consumers; for a request id, the requests with that id. */
export function search(cluster: Cluster, text: string, most: number): readonly Found[] {
  const { host, server, network, port, provider, consumer } = cluster.tables;
  const found: Found[] = [];
  const add = (kind: string, view: View, of: string | null, name: string, more: string, filter = {}): boolean =>
    found.push({ kind, view, of, name, more, filter }) >= most;
  if (/^req-/.test(text.trim())) {
    add("requests", "requests", null, text.trim(), "", { q: text.trim() });
  }
  for (const [name, row] of host.rows) {
    if (hasWords(text, name) && add("host", "hosts", name, name, row.state)) {
      return found;
    }
  }
  for (const [uuid, row] of server.rows) {
    if (hasWords(text, row.name, uuid) && add("server", "servers", uuid, row.name, `${row.status} ${shortId(uuid)}`)) {
      return found;
    }
  }
  for (const [uuid, row] of network.rows) {
    if (hasWords(text, row.name, uuid) && add("network", "networks", uuid, row.name || uuid, shortId(uuid))) {
      return found;
    }
  }
  for (const [uuid, row] of port.rows) {
    const names = [row.name, uuid, row.mac, ...row.addresses, ...row.floatingIps];
    const name = row.addresses[0] ?? shortId(uuid);
    if (hasWords(text, ...names) && add("port", "ports", null, name, `${row.status} ${shortId(uuid)}`, { q: uuid })) {
      return found;
    }
  }
  for (const [uuid, row] of provider.rows) {
    if (hasWords(text, row.name, uuid) && add("provider", "placement", uuid, row.name, shortId(uuid))) {
      return found;
    }
  }
  for (const [uuid, row] of consumer.rows) {
    if (!server.rows.has(uuid) && hasWords(text, uuid) && add("consumer", "consumers", uuid, uuid, row.type)) {
      return found;
    }
  }
  return found;
}
