import type { ActionRequirements, DashboardAction } from "../../wire/messages.js";
import type { HostRow, ServerRow } from "../../wire/rows.js";
import type { Cluster } from "./cluster.js";
import { counted } from "./format.js";

/** The object of an action, as far as it is known. */
export interface ActionSubject {
  readonly server?: ServerRow | undefined;
  /** The host of the action, or of its server. */
  readonly host?: HostRow | undefined;
  /** The number of servers on the host. */
  readonly servers: number;
}

/** Returns the object of an action. @param of name of a host, or uuid of a server */
export function subjectOf(
  { subject }: Pick<DashboardAction, "subject">,
  of: string,
  { tables, serversOfHost }: Pick<Cluster, "tables" | "serversOfHost">,
): ActionSubject {
  const server = subject === "server" ? tables.server.get(of) : undefined;
  const name = subject === "host" ? of : (server?.host ?? null);
  const host = name === null ? undefined : tables.host.get(name);
  return { server, host, servers: subject === "host" ? serversOfHost.get(of).length : 0 };
}

/** Returns why the state of its object forbids an action, as a sentence; null if it does not. */
export function unmetRequirement(requires: ActionRequirements | undefined, subject: ActionSubject): string | null {
  if (requires === undefined) {
    return null;
  }
  return (
    (subject.server === undefined ? null : unmetByServer(requires, subject.server)) ??
    (subject.host === undefined ? null : unmetByHost(requires, subject.host, subject))
  );
}

function unmetByServer({ vmStates, idle, service }: ActionRequirements, server: ServerRow): string | null {
  const { name, vmState, taskState, host } = server;
  if (vmStates !== undefined && !vmStates.includes(vmState)) {
    return `${name} is ${vmState}. The server must be ${alternatives(vmStates)}.`;
  }
  if (idle === true && taskState !== null) {
    return `${name} has a task in progress: ${taskState}.`;
  }
  return service !== undefined && host === null ? `${name} is on no host.` : null;
}

/** States in which the process of an agent exists. */
const RUNNING: readonly (string | null)[] = ["starting", "serving", "stopping", "waiting", "restarting"];

function unmetByHost(
  { service, agent, registered, enabled, forcedDown, servers, faults }: ActionRequirements,
  host: HostRow,
  { server, servers: serverCount }: ActionSubject,
): string | null {
  const name = host.host;
  if (service === "down" && host.state === "up") {
    return `${name} is up. Kill or fence ${server === undefined ? "it" : "the host"} first.`;
  }
  if (service === "up" && host.state === "down") {
    return `${name} is down.`;
  }
  if (agent === "running" && !RUNNING.includes(host.agent)) {
    return host.agent === null
      ? `${name} has no agent on this machine.`
      : `The agent of ${name} is not running (${host.agent}).`;
  }
  if (agent === "stopped" && RUNNING.includes(host.agent)) {
    return `The agent of ${name} is already running (${host.agent}).`;
  }
  if (registered === true && !host.registered) {
    return `${name} has no compute service yet. Start its agent first.`;
  }
  if (enabled !== undefined && enabled !== host.enabled) {
    return `${name} is already ${enabled ? "disabled" : "enabled"}.`;
  }
  if (forcedDown !== undefined && forcedDown !== host.forcedDown) {
    return forcedDown ? `${name} is not fenced.` : `${name} is already fenced.`;
  }
  if (servers === true && serverCount === 0) {
    return `${name} has no servers.`;
  }
  return faults === true && host.faults.length === 0 ? `No fault is set on ${name}.` : null;
}

function alternatives(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

/** Returns the title of an action's dialog: `Kill devstack3?`. */
export function titleOf({ label, destructive, subject }: DashboardAction, name: string): string {
  const fallback = { finding: "the plan", cluster: "the cluster" }[subject as string] ?? "";
  const object = name || (destructive ? fallback : "");
  return destructive ? `${label} ${object}?` : object === "" ? label : `${label}: ${object}`;
}

/** Returns what an action causes for its object: `Its 2 guests keep running.` By default the action's summary. */
export function consequenceOf({ name, summary, subject }: DashboardAction, of: string, cluster: Cluster): string {
  const { server, servers } = subjectOf({ subject }, of, cluster);
  const guests = subject === "host" ? cluster.tables.guests.get(of)?.guests.length : undefined;
  switch (name) {
    case "host-kill":
    case "host-stop":
      if (guests === undefined) {
        return summary;
      }
      return guests === 0
        ? "It has no guests."
        : `Its ${counted(guests, "guest")} ${guests === 1 ? "keeps" : "keep"} running.`;
    case "host-remove":
      return removalConsequence(of, cluster);
    case "fence":
      return servers === 0
        ? "It has no servers."
        : `Compute regards it as down. Its ${counted(servers, "server")} can then be evacuated.`;
    case "host-evacuate":
      return `Its ${counted(servers, "server")} ${servers === 1 ? "is" : "are"} rebuilt on other hosts.`;
    case "delete":
      return server === undefined
        ? summary
        : server.host === null
          ? "It is on no host. Its allocations are deleted as well."
          : `Its guest on ${server.host} and its allocations are deleted.`;
    default:
      return summary;
  }
}

/** Returns what the removal of a host causes for its servers, guests and allocations, as sentences. */
function removalConsequence(
  host: string,
  { tables, serversOfHost }: Pick<Cluster, "tables" | "serversOfHost">,
): string {
  const servers = serversOfHost.get(host);
  const guests = tables.guests.get(host)?.guests ?? [];
  const ownGuests = new Set(servers.map(({ uuid }) => uuid));
  const others = guests.filter(({ uuid }) => !ownGuests.has(uuid)).length;
  const isFenced = tables.host.get(host)?.forcedDown === true;
  const sentences = ["Its compute service, its providers and their allocations are deleted."];
  if (servers.length > 0) {
    sentences.push(
      `It has ${counted(servers.length, "server")}: the removal is rejected unless they are evacuated first.`,
      "Evacuated servers are rebuilt on other hosts, and their guests here are destroyed.",
    );
  }
  if (servers.length > 0 || isFenced) {
    sentences.push(
      "Its agent starts once more, to destroy guests of evacuated servers and to remove their allocations.",
    );
  } else if (others > 0) {
    sentences.push(
      `${counted(others, "guest")} without a server ${others === 1 ? "stays" : "stay"} on its hypervisor.`,
    );
  }
  return sentences.join(" ");
}
