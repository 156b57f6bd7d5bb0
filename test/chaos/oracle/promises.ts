import type { InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedWell } from "./last-words.js";
import type { ServerRequest } from "./requests.js";
import type { Snapshot } from "./snapshot.js";

/**
 * Checks that acknowledged requests took effect and rejected ones left no record. A server exists until its deletion is
 * requested, and every action has a record. `nobodyDies`: every action also has an end, possibly an error. An agent that
 * dies leaves its events open, as a nova-compute does.
 */
export function brokenPromises(
  { store }: Snapshot,
  requests: readonly ServerRequest[],
  { nobodyDies = false }: { readonly nobodyDies?: boolean } = {},
): readonly Violation[] {
  const condemned = condemnedIn(store, requests);
  return [
    ...lostServers(store, requests, condemned),
    ...requests.flatMap((one) => brokenAction(store, one, nobodyDies)),
  ];
}

/**
 * Returns servers whose deletion was requested. A server that was successfully restored afterwards is excluded, unless
 * another delete may have followed.
 */
function condemnedIn(store: Snapshot["store"], requests: readonly ServerRequest[]): ReadonlySet<string> {
  const condemned = new Set<string>();
  for (const one of requests) {
    if (isDelete(one)) {
      condemned.add(one.server);
    } else if (one.what === "restore" && one.outcome === "done") {
      const action = store.actions.get(one.server, one.requestId ?? "");
      if (action !== null && endedWell(store, action)) {
        condemned.delete(one.server);
      }
    }
  }
  const unknown = requests.filter((one) => isDelete(one) && one.outcome === "unknown");
  return new Set([...condemned, ...unknown.map(({ server }) => server)]);
}

/** Returns true for deletes that were not rejected; the effect of one without a response is unknown. */
function isDelete({ what, outcome }: ServerRequest): boolean {
  return (what === "delete" || what === "forceDelete") && outcome !== "refused";
}

function lostServers(
  store: Snapshot["store"],
  requests: readonly ServerRequest[],
  condemned: ReadonlySet<string>,
): readonly Violation[] {
  const created = requests.filter(({ what, outcome }) => what === "create" && outcome === "done");
  const lost = created
    .map(({ server }) => server)
    .filter((server) => !condemned.has(server))
    .filter((server) => store.instances.get(server, { readDeleted: true }) === null)
    .filter((server) => store.requests.buildRequest(server) === null)
    .map((server) => ({ subject: server, what: "it was acknowledged, and there is no record of it" }));
  const deleted = store.instances
    .list({ deleted: true })
    .filter(({ uuid }) => !condemned.has(uuid))
    .map(({ uuid, host }) => ({ subject: uuid, what: `it is deleted, and nobody asked for that; it was on ${host}` }));
  return [...lost, ...deleted];
}

/** Actions that are complete with the response. */
const AT_ONCE = /^(create|delete|forceDelete|lock|unlock)$/;

function brokenAction(
  store: Snapshot["store"],
  { what, server, outcome, requestId }: ServerRequest,
  ends: boolean,
): readonly Violation[] {
  if (requestId === null || what === "create" || what === "os-resetState") {
    return [];
  }
  const action = store.actions.get(server, requestId);
  if (outcome === "refused") {
    return action === null
      ? []
      : [{ subject: server, what: `its ${what} was refused, and has the action ${show(action)}` }];
  }
  if (outcome === "unknown" || AT_ONCE.test(what)) {
    return [];
  }
  if (action === null) {
    return [{ subject: server, what: `its ${what} was acknowledged, and no action tells of it (${requestId})` }];
  }
  return ends && action.finishTime === null
    ? [{ subject: server, what: `its ${what} was acknowledged, and its action never ended: ${show(action)}` }]
    : [];
}

function show({ action, requestId, message }: InstanceAction): string {
  return `${action} of ${requestId}${message === null ? "" : ` (${message})`}`;
}
