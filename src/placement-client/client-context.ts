import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";
import type { Timers } from "../runtime/timers.js";
import type { KnownNames } from "./known-names.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";

/** What each operation of one report client works with. */
export interface ClientContext {
  readonly http: PlacementHttp;
  readonly cache: ProviderCache;
  readonly known: KnownNames;
  /** `[compute] sharing_providers_max_uuids_per_request` */
  readonly uuidsPerRequest: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
}
