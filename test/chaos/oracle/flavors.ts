import type { Instance, InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedWell } from "./last-words.js";
import type { ServerRequest } from "./requests.js";
import type { Snapshot } from "./snapshot.js";

/** Flavor ids. */
type Flavors = ReadonlySet<string>;

/** Possible flavors of a server after its actions so far. */
interface Sizes {
  readonly now: Flavors;
  /** Previous flavors while a move awaits confirmation. */
  readonly before: Flavors | null;
}

/** Checks that each server has its initial flavor or that of its last resize; after a failed action, either. */
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
      // Other actions, such as an evacuation, end the move.
      return { now: new Set([...now, ...(before ?? [])]), before };
  }
}

/** Returns the flavors of the request; if its response was lost, those of all requests with lost responses. */
function flavorsOf(requestId: string, requests: readonly ServerRequest[]): Flavors {
  const resizes = requests.filter(({ what }) => what === "resize");
  const own = resizes.filter((one) => one.requestId === requestId);
  const found = own.length > 0 ? own : resizes.filter(({ outcome }) => outcome === "unknown");
  return new Set(found.flatMap(({ flavor }) => flavor ?? []));
}

function describeInstance({ vmState, host }: Instance, actions: readonly InstanceAction[]): string {
  return `it is ${vmState} on ${host}, after ${actions.map(({ action, message }) => `${action}${message === null ? "" : ` (${message})`}`).join(", ")}`;
}
