import type { Instance, InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedWell } from "./last-words.js";
import type { ServerRequest } from "./requests.js";
import type { Snapshot } from "./snapshot.js";

/** Ids of flavors. */
type Flavors = ReadonlySet<string>;

/** What a server may have, after all that was done to it so far. */
interface Sizes {
  readonly now: Flavors;
  /** While a move waits for its confirmation: what the server had before. */
  readonly before: Flavors | null;
}

/** A server has the flavor that it was created with, or that of its last resize; where an action failed, either. */
export function wrongFlavors({ store }: Snapshot, requests: readonly ServerRequest[]): readonly Violation[] {
  const created = new Map(
    requests.filter(({ what }) => what === "create").map(({ server, flavor }) => [server, flavor]),
  );
  return store.instances.list({ deleted: false }).flatMap((instance) => {
    const { uuid, flavor } = instance;
    const first = created.get(uuid);
    if (first == null) {
      return [];
    }
    const actions = store.actions.list(uuid).reverse();
    const own = requests.filter(({ server }) => server === uuid);
    const { now } = actions.reduce((sizes, action) => after(sizes, action, own, endedWell(store, action)), {
      now: new Set([first]),
      before: null,
    } as Sizes);
    return now.has(flavor.flavorid)
      ? []
      : [
          {
            subject: uuid,
            what: `it has flavor ${flavor.flavorid}, expected ${[...now].join(" or ")}; ${describeInstance(instance, actions)}`,
          },
        ];
  });
}

function after(
  { now, before }: Sizes,
  { action, requestId }: InstanceAction,
  requests: readonly ServerRequest[],
  succeeded: boolean,
): Sizes {
  switch (action) {
    case "resize": {
      const requestedFlavors = flavorsOf(requestId, requests);
      return succeeded
        ? { now: requestedFlavors, before: now }
        : { now: new Set([...now, ...requestedFlavors]), before: null };
    }
    case "migrate":
      return { now, before: now };
    case "confirmResize":
      return { now: succeeded ? now : new Set([...now, ...(before ?? [])]), before: null };
    case "revertResize":
      return { now: succeeded ? (before ?? now) : new Set([...now, ...(before ?? [])]), before: null };
    case "createImage":
    case "createBackup":
      return { now, before };
    default:
      // An evacuation, say, ends the move.
      return { now: new Set([...now, ...(before ?? [])]), before };
  }
}

/** The flavors of the request; where its answer was lost, of all requests whose answers were lost. */
function flavorsOf(requestId: string, requests: readonly ServerRequest[]): Flavors {
  const resizes = requests.filter(({ what }) => what === "resize");
  const own = resizes.filter((one) => one.requestId === requestId);
  const found = own.length > 0 ? own : resizes.filter(({ outcome }) => outcome === "unknown");
  return new Set(found.flatMap(({ flavor }) => flavor ?? []));
}

function describeInstance({ vmState, host }: Instance, actions: readonly InstanceAction[]): string {
  return `it is ${vmState} on ${host}, after ${actions.map(({ action, message }) => `${action}${message === null ? "" : ` (${message})`}`).join(", ")}`;
}
