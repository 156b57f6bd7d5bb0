import type { RequestSpec } from "../../records/index.js";
import type { Held } from "./claim.js";

/** What is to be placed, and where it may not or has to go. */
export interface ScheduleRequest {
  readonly instanceUuid: string;
  readonly spec: RequestSpec;
  /** Requested by the user; checked like any other host. */
  readonly requestedHost?: string | undefined;
  readonly requestedNode?: string | undefined;
  /** `force_hosts`: the requested host is not filtered, Placement has the only say. */
  readonly forced?: boolean;
  readonly ignoreHosts?: readonly string[];
  /** What becomes of what the instance holds (spec 5.5, 6.0). */
  readonly held: Held;
  readonly requestId: string;
  readonly signal?: AbortSignal;
}
