import type { Random } from "../../runtime/cryptography.js";
import type { Servers } from "../../runtime/http-server.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Credentials } from "../credentials.js";
import type { PolicyRule } from "../policy/rule-parser.js";
import type { Database } from "./store/database.js";

/** What Placement needs to know of the caller; a subset of the embedded Identity's {@link Credentials}. */
export interface PlacementCredentials extends Pick<Credentials, "userId" | "projectId" | "systemScope"> {
  readonly roles: readonly string[];
  /** Set for domain-scoped tokens only. */
  readonly domainScope?: string | null;
}

/** The sender of a request. Undefined: the token is missing, unknown or expired. */
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
  /** Refuse tokens of a scope that a rule is not meant for. */
  readonly enforceScope: boolean;
  /** Leave out the deprecated defaults, by which `admin` may do everything. */
  readonly enforceNewDefaults: boolean;
  /** The content of the policy file. */
  readonly rules: Readonly<Record<string, PolicyRule>>;
}

/** How the middleware refuses requests without valid credentials. */
export interface AuthOptions {
  /** `noauth2` words its 401 as Placement's test middleware, `keystone` as keystonemiddleware. */
  readonly strategy: "noauth2" | "keystone";
  readonly authenticate: Authenticate;
  /** `[keystone_authtoken] www_authenticate_uri`, for the WWW-Authenticate header. */
  readonly identityUri: string;
}

export interface PlacementOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where the state is kept; absent: in memory only. */
  readonly database?: Database;
  /** What hands requests out: those that arrive together are committed together. Absent: each by itself. */
  readonly servers?: Pick<Servers, "afterArrivals">;
  /** Default: {@link noauth2}. */
  readonly auth?: AuthOptions;
  /** Default: enforce the scope, keep the deprecated defaults, no policy file. */
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
