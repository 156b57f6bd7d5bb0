import type { NovaConfig } from "../../config/nova-config.js";
import type { PlacementAccess } from "../../placement-client/access/placement-access.js";
import { isPlacementError } from "../../placement-client/errors.js";
import { asArray, asRecord } from "../../placement-client/json.js";
import { PlacementHttp, type PlacementResponse } from "../../placement-client/placement-http.js";
import { withoutUserInfo } from "../../runtime/http.js";
import type { Runtime } from "../../runtime/runtime.js";
import { within } from "../../runtime/time.js";
import { type CheckPart, failedPart, part } from "./check-part.js";

export interface PlacementCheck {
  readonly host: string;
  readonly config: NovaConfig;
  readonly access: PlacementAccess;
  readonly runtime: Pick<Runtime, "http" | "clock" | "timers">;
  /** The timeout of each part, in milliseconds. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

const BY_KEYSTONE: ReadonlySet<string> = new Set(["password", "v3password", "v3applicationcredential"]);

/** The newest microversion that an agent requests. */
const NEEDED = 30;

/** Checks that Keystone issues a token and that Placement accepts it. Sends read requests only. */
export async function checkPlacement(check: PlacementCheck): Promise<readonly CheckPart[]> {
  const { access, config, runtime, limit, signal } = check;
  const { authType, authUrl } = config.placement;
  const keystone = BY_KEYSTONE.has(authType ?? "") ? withoutUserInfo(authUrl ?? "") : null;
  const inTime = <T>(what: string, work: Promise<T>) => within(runtime.timers, limit, what, work, signal);
  let endpoint: string;
  try {
    ({ endpoint } = await inTime(keystone ?? "the conductor", access.credentials()));
  } catch (error) {
    const keystoneParts = keystone === null ? [] : [part("keystone", "ok", `${keystone} gave a token`)];
    return isPlacementError(error, "EndpointNotFound") || keystone === null
      ? [...keystoneParts, failed("placement", error)]
      : [
          failed("keystone", error, "check that Keystone runs, and [placement] auth_url"),
          part("placement", "unknown", "needs a token"),
        ];
  }
  const safeEndpoint = withoutUserInfo(endpoint);
  const placement = await inTime(`Placement at ${safeEndpoint}`, askPlacement(check, safeEndpoint)).catch(
    (error: unknown) =>
      failed("placement", error, "check that Placement runs, and the endpoint in [placement] or the catalog"),
  );
  return [...(keystone === null ? [] : [part("keystone", "ok", `${keystone} gave a token`)]), placement];
}

/** Converts an error into a part; a start waits for an unreachable service. */
function failed(name: CheckPart["name"], error: unknown, hint = ""): CheckPart {
  return isPlacementError(error, "ConnectFailure") ? part(name, "waits", error.message) : failedPart(name, error, hint);
}

async function askPlacement({ host, access, runtime, signal }: PlacementCheck, endpoint: string): Promise<CheckPart> {
  const { http, clock } = runtime;
  const placement = new PlacementHttp({ http, clock, access, userAgent: "nova-compute" });
  // The list request fails unless the user may read providers; checkHost compares the host's own providers by uuid.
  const [versions, found] = await Promise.all([
    placement.get("/", { signal }),
    placement.get(`/resource_providers?name=${encodeURIComponent(host)}`, { signal, version: "1.14" }),
  ]);
  if (found.status === 403) {
    const hint = "grant the user the role service, or admin, in the project of [placement]";
    return part("placement", "fails", `${endpoint} accepts the user but denies read access: ${found.describe()}`, hint);
  }
  if (!found.ok || !versions.ok) {
    const response = found.ok ? versions : found;
    return part("placement", "fails", `${endpoint} responds with ${response.describe()}`, "check Placement's log");
  }
  const [oldest, newest] = rangeOf(versions);
  const speaks = `${endpoint} supports ${oldest} to ${newest}`;
  return Number(newest.split(".")[1] ?? 0) < NEEDED
    ? part("placement", "fails", speaks, `the agent needs 1.${NEEDED}: upgrade Placement`)
    : part("placement", "ok", `${speaks} and accepts the credentials`);
}

function rangeOf(response: PlacementResponse): readonly [string, string] {
  return response.read(({ versions }) => {
    const { min_version: oldest, max_version: newest } = asRecord(asArray(versions)[0]);
    return [String(oldest), String(newest)];
  });
}
