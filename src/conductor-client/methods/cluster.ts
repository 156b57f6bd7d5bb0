import { flag, listOf, name, nullable, object, optional, type RecordOf, text } from "../../records/field.js";
import type { Instance } from "../../records/index.js";
import { trusted, waits } from "./method.js";

export type RecordedCaller = RecordOf<{ readonly caller: typeof recordedCaller }>["caller"];

/** A substitute in this cluster for a user of another one. */
export interface Impersonation {
  /** Null if no token can be issued, for example because the user is disabled here. */
  readonly token: string | null;
  /** The same user, project and roles, with their ids in this cluster. */
  readonly caller: RecordedCaller;
  /** Objects that were missing and have been created. */
  readonly made: readonly string[];
}

const named = { id: name, name };

const domain = object(named);

const inDomain = object({ ...named, domain });

/** Maximum number of a caller's items of one kind; far more than ever occurs. */
const MAX_ITEMS = 1_000;

/** A caller without any secret: the data with which another cluster can repeat the user's request. */
export const recordedCaller = object({
  user: inDomain,
  /** Scope of the token: at most one of the next three is set. */
  project: nullable(inDomain),
  domain: nullable(domain),
  system: flag,
  /** Names of the roles in that scope. */
  roles: listOf(name, MAX_ITEMS),
  /** The application credential of the token, unless it was issued for a password. */
  applicationCredential: nullable(
    object({
      ...named,
      unrestricted: flag,
      accessRules: listOf(object({ service: text(), method: text(), path: text() }), MAX_ITEMS),
    }),
  ),
});

const DEFAULT_DOMAIN = { id: "default", name: "Default" };

/** Methods of `compute-agent down` and `wait` about the complete cluster. */
export const CLUSTER_METHODS = {
  /**
   * Stops everything that `compute-agent up` has started, and then `up` itself, which is notified before the response.
   * @throws ConductorError this control plane was not started by `up`.
   */
  stop_cluster: waits({}, trusted<{ readonly pid: number }>()),
  /**
   * Kills everything that `compute-agent up` has started as `kill -9` does, replaces its state with a saved one, and
   * starts it again. The response, with the pid of `up`, is sent before; later requests are handled by the restarted
   * processes. Null: the state after its start. `startHosts`: also starts hosts that were down when the state was saved.
   * @throws ConductorError there is no such snapshot, or this control plane was not started by `up`.
   */
  restore_cluster: waits({ snapshot: nullable(name), startHosts: optional(flag) }, trusted<{ readonly pid: number }>()),
  /** Returns the pending work, as far as the state of record contains it. */
  cluster_work: waits({}, trusted<ClusterWork>()),
  /**
   * Returns clients' requests and operators' actions since the last call; recorded only while this method is called
   * regularly.
   */
  take_recorded: waits({}, trusted<Recorded>()),
  /**
   * Issues a token for a caller from a recording of another cluster, without a login. Missing users, projects, roles and
   * application credentials are created. `placing`: the token also has the role `admin`, to choose the host of a new server.
   * The join token alone already gives access to an administrator's tokens.
   */
  stand_in: waits({ caller: recordedCaller, placing: optional(flag) }, trusted<Impersonation>()),
};

/** Maximum nesting depth of a recorded request or response body. */
export const RECORDED_DEPTH = 64;

/** A recorded request to a service. */
export interface RecordedRequest {
  /** Time of the request, milliseconds since the epoch. */
  readonly at: number;
  /** Null if the request had no valid token. */
  readonly caller: RecordedCaller | null;
  readonly method: string;
  /** With the service's mount point and the query: `/compute/v2.1/servers?limit=1`. */
  readonly path: string;
  /** `compute 2.79` */
  readonly version?: string;
  readonly contentType?: string;
  /** JSON; null if there is none. */
  readonly body?: unknown;
  /** Size in bytes of a body that is not JSON, such as an image's content; the body is not recorded. */
  readonly bytes?: number;
  /** The reason why the request cannot be repeated. */
  readonly left?: string;
  readonly status: number;
  /** JSON; null if there is none, or it is too long. */
  readonly answer: unknown;
}

/** A command of an operator, with its arguments and without the program. */
export interface RecordedCommand {
  readonly at: number;
  readonly run: readonly string[];
}

export type RecordedEvent = RecordedRequest | RecordedCommand;

export interface Recorded {
  readonly events: readonly RecordedEvent[];
  /** Number of events dropped for lack of space. */
  readonly lost: number;
  /** Whether further events are available already. */
  readonly more: boolean;
}

export interface ClusterWork {
  /** Number of pending tasks of the conductor. */
  readonly tasks: number;
  /** Number of messages that connected agents have not accepted yet. */
  readonly messages: number;
  /** The first servers with an operation in progress. */
  readonly servers: readonly (Pick<Instance, "uuid" | "displayName"> & { readonly taskState: string })[];
  /** The first moves that have neither ended nor wait for their confirmation, with their server. */
  readonly moves: readonly { readonly type: string; readonly status: string; readonly instanceUuid: string }[];
}

/** Returns the administrator of every cluster. @param project the project's name */
export function administratorIn(project: string): RecordedCaller {
  return {
    user: { id: "admin", name: "admin", domain: DEFAULT_DOMAIN },
    project: { id: project, name: project, domain: DEFAULT_DOMAIN },
    domain: null,
    system: false,
    roles: ["admin"],
    applicationCredential: null,
  };
}
