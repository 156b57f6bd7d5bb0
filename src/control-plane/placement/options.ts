import type { Random } from "../../runtime/cryptography.js";
import type { Servers } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Credentials } from "../credentials.js";
import type { PolicyRule } from "../policy/rule-parser.js";
import type { Database } from "./store/database.js";

/** The attributes of the caller that Placement needs; a subset of the embedded Identity's {@link Credentials}. */
export interface PlacementCredentials extends Pick<Credentials, "userId" | "projectId" | "systemScope"> {
  readonly roles: readonly string[];
  /** Set for domain-scoped tokens only. */
  readonly domainScope?: string | null;
}

/** Returns the sender of a request; undefined if the token is missing, unknown or expired. */
type Authenticate = (
  token: string | undefined,
  headers: Readonly<Record<string, string>>,
) => PlacementCredentials | undefined;

/** `[cors]` of placement.conf. */
export interface CorsOptions {
  readonly allowedOrigin: readonly string[];
  readonly allowCredentials: boolean;
  readonly exposeHeaders: readonly string[];
  /** Seconds. */
  readonly maxAge: number;
  readonly allowMethods: readonly string[];
  readonly allowHeaders: readonly string[];
}

/** `[oslo_policy]` of placement.conf. */
export interface PolicyOptions {
  /** Rejects tokens whose scope a rule does not accept. */
  readonly enforceScope: boolean;
  /** Disables the deprecated defaults, which permit everything to `admin`. */
  readonly enforceNewDefaults: boolean;
  /** The content of the policy file. */
  readonly rules: Readonly<Record<string, PolicyRule>>;
}

/** The authentication middleware. */
export interface AuthOptions {
  /** Selects the format of a 401: `noauth2` as Placement's test middleware, `keystone` as keystonemiddleware. */
  readonly strategy: "noauth2" | "keystone";
  readonly authenticate: Authenticate;
  /** `[keystone_authtoken] www_authenticate_uri`, for the WWW-Authenticate header. */
  readonly identityUri: string;
}

export interface PlacementOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The persistent state; absent: in memory only. */
  readonly database?: Database;
  /**
   * Schedules requests: those that arrive in the same event-loop tick are committed as one group. Absent: each is
   * committed separately.
   */
  readonly servers?: Pick<Servers, "afterArrivals">;
  /** Default: {@link noauth2}. */
  readonly auth?: AuthOptions;
  /** Default: enforce the scope, enable the deprecated defaults, no policy file. */
  readonly policy?: Partial<PolicyOptions>;
  /** Absent: no CORS. */
  readonly cors?: CorsOptions;
  readonly placement?: Partial<PlacementTuning>;
}

/** `[placement]` of placement.conf. */
export interface PlacementTuning {
  readonly incompleteConsumerProjectId: string;
  readonly incompleteConsumerUserId: string;
  readonly randomizeAllocationCandidates: boolean;
  /** -1: no limit. */
  readonly maxAllocationCandidates: number;
  readonly generationStrategy: "depth-first" | "breadth-first";
}

export const DEFAULT_TUNING: PlacementTuning = {
  incompleteConsumerProjectId: "00000000-0000-0000-0000-000000000000",
  incompleteConsumerUserId: "00000000-0000-0000-0000-000000000000",
  randomizeAllocationCandidates: false,
  maxAllocationCandidates: -1,
  generationStrategy: "depth-first",
};
