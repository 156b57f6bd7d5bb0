import { administratorIn } from "../../../conductor-client/methods/cluster.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { sessionWith } from "../../../control-plane/local/cloud-session.js";
import type { HttpClient } from "../../../runtime/http.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import type { RecordedAllocations } from "./recording.js";

const VERSION = "1.36";
const AT_A_TIME = 16;

/**
 * Returns the allocations of every provider. Uses an impersonation token, since the administrator's password may have
 * changed.
 * @param url of the cluster
 */
export async function readAllocations(
  session: HostSession,
  http: HttpClient,
  url: string,
): Promise<RecordedAllocations> {
  const { token } = await session.call("stand_in", { caller: administratorIn("admin") });
  const cloud = sessionWith(http, url, token ?? "");
  const { resource_providers: providers } = (await cloud.request(
    "placement",
    "GET",
    "/resource_providers",
    VERSION,
  )) as {
    readonly resource_providers: readonly { readonly uuid: string; readonly name: string }[];
  };
  const held = await mapConcurrently([...providers], AT_A_TIME, async ({ uuid, name }) => {
    const path = `/resource_providers/${uuid}/allocations`;
    const { allocations } = (await cloud.request("placement", "GET", path, VERSION)) as {
      readonly allocations: Readonly<Record<string, { readonly resources: Readonly<Record<string, number>> }>>;
    };
    return [
      name,
      Object.fromEntries(Object.entries(allocations).map(([id, { resources }]) => [id, resources])),
    ] as const;
  });
  return Object.fromEntries(held);
}

/**
 * Returns the differences between the allocations of two clouds.
 * @param idOf maps an id of the first cloud to the second; undefined if unknown
 */
export function heldDifferences(
  before: RecordedAllocations,
  now: RecordedAllocations,
  idOf: (id: string) => string | undefined,
): readonly string[] {
  const known = new Set(Object.values(before).flatMap((held) => Object.keys(held).map(idOf)));
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].toSorted().flatMap((name) => {
    const expected = formatAllocations(before[name] ?? {}, (id) => idOf(id));
    const found = formatAllocations(now[name] ?? {}, (id) => (known.has(id) ? id : undefined));
    return expected.join() === found.join()
      ? []
      : [`${name}: expected ${expected.join("; ") || "nothing"}, found ${found.join("; ") || "nothing"}`];
  });
}

function formatAllocations(
  held: RecordedAllocations[string],
  idOf: (id: string) => string | undefined,
): readonly string[] {
  return Object.entries(held)
    .map(([id, amounts]) => {
      const parts = Object.entries(amounts).toSorted(([one], [other]) => one.localeCompare(other));
      return `${idOf(id) ?? "another consumer"} ${parts.map(([name, amount]) => `${name}=${amount}`).join(" ")}`;
    })
    .toSorted();
}
