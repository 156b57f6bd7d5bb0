import type { HostRow, PortRow, RequestRow, ServerRow } from "../../wire/rows.js";

export const HOST_STATES = ["up", "down", "disabled", "differs", "faults"] as const;
export type HostState = (typeof HOST_STATES)[number];

export interface HostFilter {
  readonly text: string;
  readonly state: HostState | "";
  readonly aggregate: string;
  readonly fault: string;
}

export const isHostState = (text: string | undefined): text is HostState => HOST_STATES.some((state) => state === text);

/** Returns whether every word of the text occurs in one of the fields. */
export function hasWords(text: string, ...fields: readonly (string | null)[]): boolean {
  const all = fields.join("\n").toLowerCase();
  return wordsOf(text).every((word) => all.includes(word));
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/);

export function isInState(host: HostRow, state: HostState | "", differs: boolean): boolean {
  switch (state) {
    case "":
      return true;
    case "disabled":
      return !host.enabled;
    case "differs":
      return differs;
    case "faults":
      return host.faults.length > 0;
    default:
      return host.state === state;
  }
}

export function isHostMatch(host: HostRow, differs: boolean, filter: HostFilter): boolean {
  return (
    isInState(host, filter.state, differs) &&
    (filter.aggregate === "" || host.aggregates.includes(filter.aggregate)) &&
    (filter.fault === "" || host.faults.some((fault) => fault.startsWith(filter.fault))) &&
    hasWords(filter.text, host.host, host.reason, host.zone, ...host.aggregates, ...host.faults)
  );
}

export function isServerMatch(server: ServerRow, text: string, status: string): boolean {
  return (
    (status === "" || server.status === status) &&
    hasWords(text, server.name, server.uuid, server.host, server.taskState, server.flavor)
  );
}

/** Returns whether a port is displayed as a problem: its binding failed, or it carries no traffic of an ACTIVE server. */
export function isPortWrong({ status, bindings }: PortRow, server: ServerRow | undefined): boolean {
  const isDown = status === "DOWN" && server?.status === "ACTIVE" && server.taskState === null;
  return isDown || status === "ERROR" || bindings.some(({ vifType }) => vifType === "binding_failed");
}

/** @param names names of the port's network and server */
export function isPortMatch(port: PortRow, names: readonly string[], text: string, status: string): boolean {
  const { uuid, name, mac, device, owner, addresses, floatingIps, bindings } = port;
  const hosts = bindings.map(({ host }) => host);
  return (
    (status === "" || port.status === status) &&
    hasWords(text, uuid, name, mac, device, owner, ...addresses, ...floatingIps, ...hosts, ...names)
  );
}

export interface RequestFilter {
  /** Each word must occur in at least one of its alternatives. */
  readonly words: readonly (readonly string[])[];
  readonly service: string;
  readonly changes: boolean;
  readonly failed: boolean;
}

/** Returns the words of a filter. The name of a server also matches its id, since requests contain only ids. */
export function requestWords(text: string, servers: Iterable<ServerRow>): RequestFilter["words"] {
  const words = wordsOf(text).filter((word) => word !== "");
  const named = [...servers].filter(({ name }) => words.includes(name.toLowerCase()));
  return words.map((word) => [
    word,
    ...named.filter(({ name }) => name.toLowerCase() === word).map(({ uuid }) => uuid),
  ]);
}

export function isRequestMatch(request: RequestRow, filter: RequestFilter): boolean {
  const { path, method, status, requestId, globalRequestId, user, about } = request;
  const all = [path, method, status, requestId, globalRequestId, user, ...about].join("\n").toLowerCase();
  return (
    (filter.service === "" || request.service === filter.service) &&
    (!filter.changes || !["GET", "HEAD"].includes(method)) &&
    (!filter.failed || status >= 400) &&
    filter.words.every((spellings) => spellings.some((spelling) => all.includes(spelling)))
  );
}

/** Compares names in natural order: node2 before node10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;
