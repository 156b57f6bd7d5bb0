import type { Cluster } from "./cluster.js";
import { hasWords } from "./filters.js";
import { shortId } from "./format.js";
import type { View } from "./routes.js";

export interface Found {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly view: View;
  readonly of: string | null;
  readonly filter: Readonly<Record<string, string>>;
}

/** Hosts first, then servers, providers and consumers; requests by an id as it stands in logs. */
export function search(cluster: Cluster, text: string, most: number): readonly Found[] {
  const { host, server, provider, consumer } = cluster.tables;
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
