import type { RecordedRequest } from "../../../conductor-client/methods/cluster.js";
import { administratorIn } from "../../../conductor-client/methods/recorded-caller.js";
import { withMadeUpSecrets } from "../../../control-plane/request-log/without-secrets.js";
import type { Random } from "../../../runtime/random.js";
import { BYTES } from "../../../runtime/service.js";
import { placedIn } from "./first-places.js";
import type { IdMap } from "./id-map.js";
import type { ReplaySession } from "./replay-session.js";

/** An image whose bytes were not kept gets as many zeros at most. */
const MAX_PLACEHOLDER_BYTES = 16 * 1024 * 1024;

/**
 * The body with which a request can be made again: with secrets that are made up, zeros for bytes that were not kept, and the place
 * of a server. Undefined: it had none.
 */
export function askableBody(
  { body, bytes = 0, contentType }: RecordedRequest,
  place: string | undefined,
  random: Random,
): string | undefined {
  if (contentType?.startsWith(BYTES)) {
    return "\0".repeat(Math.min(Math.max(bytes, 1), MAX_PLACEHOLDER_BYTES));
  }
  if (body === undefined || body === null) {
    return undefined;
  }
  const completeBody = withMadeUpSecrets(body, (name) => madeUp(name, random));
  return JSON.stringify(place === undefined ? completeBody : placedIn(completeBody, place));
}

/** Hexadecimal digits: they are Base64, too, which user data has to be. */
function madeUp(name: string, random: Random): string {
  return name === "blob" ? JSON.stringify({ access: random.hex(16), secret: random.hex(16) }) : random.hex(16);
}

/** The request, or, where it was a change of a password that succeeded, one that names an old password: the user is given that first. */
export async function knowOldPassword(
  event: RecordedRequest,
  { session, ids, random }: { readonly session: ReplaySession; readonly ids: IdMap; readonly random: Random },
): Promise<RecordedRequest> {
  const { method, path, status, body } = event;
  const [, user] = /^\/identity\/v3\/users\/([^/]+)\/password$/.exec(path) ?? [];
  if (method !== "POST" || user === undefined || status >= 300) {
    return event;
  }
  const old = random.hex(16);
  await session.request(administratorIn("admin"), {
    method: "PATCH",
    path: ids.translate(`/identity/v3/users/${user}`),
    contentType: "application/json",
    body: JSON.stringify({ user: { password: old } }),
  });
  const { user: userBody } = (typeof body === "object" && body !== null ? body : {}) as { readonly user?: unknown };
  return { ...event, body: { user: { ...(typeof userBody === "object" ? userBody : {}), original_password: old } } };
}
