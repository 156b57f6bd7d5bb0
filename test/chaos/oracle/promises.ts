import type { InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedWell } from "./last-words.js";
import type { ServerRequest } from "./requests.js";
import type { Snapshot } from "./snapshot.js";

/**
 * What was acknowledged is kept: a server is there until somebody asks for its end, and every action has its record; what was
 * refused left none. `nobodyDies`: every action has an end, too, be it an error, which the record tells its user. An agent that dies
 * leaves its events open, as a nova-compute does.
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

/** A server that was deleted, and is then well restored, is none, unless another delete may have come after that. */
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

/** A delete that was refused is none; of one that was never answered nobody knows. */
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

/** Nobody waits for the end of these: they are done with the answer. */
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
