import type { HostRow, RequestRow, ServerRow } from "../../wire.js";

export const HOST_STATES = ["up", "down", "disabled", "differs", "faults"] as const;
export type HostState = (typeof HOST_STATES)[number];

export interface HostFilter {
  readonly text: string;
  readonly state: HostState | "";
  readonly aggregate: string;
  readonly fault: string;
}

export const isHostState = (text: string | undefined): text is HostState => HOST_STATES.some((state) => state === text);

/** Every word is somewhere in what is searched. */
export function hasWords(text: string, ...texts: readonly (string | null)[]): boolean {
  const all = texts.join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

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

export function isHostWanted(host: HostRow, differs: boolean, filter: HostFilter): boolean {
  return (
    isInState(host, filter.state, differs) &&
    (filter.aggregate === "" || host.aggregates.includes(filter.aggregate)) &&
    (filter.fault === "" || host.faults.some((fault) => fault.startsWith(filter.fault))) &&
    hasWords(filter.text, host.host, host.reason, host.zone, ...host.aggregates, ...host.faults)
  );
}

export function isServerWanted(server: ServerRow, text: string, status: string): boolean {
  return (
    (status === "" || server.status === status) &&
    hasWords(text, server.name, server.uuid, server.host, server.taskState, server.flavor)
  );
}

export interface RequestFilter {
  readonly text: string;
  readonly service: string;
  readonly changes: boolean;
  readonly failed: boolean;
}

export function isRequestWanted(request: RequestRow, filter: RequestFilter): boolean {
  return (
    (filter.service === "" || request.service === filter.service) &&
    (!filter.changes || !["GET", "HEAD"].includes(request.method)) &&
    (!filter.failed || request.status >= 400) &&
    hasWords(
      filter.text,
      request.path,
      request.method,
      String(request.status),
      request.requestId,
      request.globalRequestId,
      request.user,
    )
  );
}

/** Names as people count: node2 before node10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;
