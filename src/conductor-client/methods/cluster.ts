import { flag, listOf, name, nullable, object, optional, type RecordOf, text } from "../../records/field.js";
import type { Instance } from "../../records/index.js";
import { trusted, waits } from "./method.js";

export type RecordedCaller = RecordOf<{ readonly caller: typeof recordedCaller }>["caller"];

/** Somebody of another cluster in this one. */
export interface StandIn {
  /** Null: they may have none, as of a user who is disabled here. */
  readonly token: string | null;
  /** The same people and things with the ids that they have here. */
  readonly caller: RecordedCaller;
  /** What was not there, and was made for it. */
  readonly made: readonly string[];
}

const named = { id: name, name };

const domain = object(named);

const inDomain = object({ ...named, domain });

/** Most of a kind that somebody has: far more than anybody does. */
const MAX_ITEMS = 1_000;

/** A caller without any secret: what another cluster needs to let the same user ask the same. */
export const recordedCaller = object({
  user: inDomain,
  /** What their token counts for: at most one of the three. */
  project: nullable(inDomain),
  domain: nullable(domain),
  system: flag,
  /** Names of the roles that it has there. */
  roles: listOf(name, MAX_ITEMS),
  /** What it was got with, if not with a password. */
  applicationCredential: nullable(
    object({
      ...named,
      unrestricted: flag,
      accessRules: listOf(object({ service: text(), method: text(), path: text() }), MAX_ITEMS),
    }),
  ),
});

const DEFAULT_DOMAIN = { id: "default", name: "Default" };

/** What `compute-cluster down` and `wait` ask: the cluster as a whole. */
export const CLUSTER_METHODS = {
  /**
   * Stops everything that `compute-cluster up` has started, and then `up` itself, which is told before it is answered.
   * @throws ConductorError no `up` has started this control plane.
   */
  stop_cluster: waits({}, trusted<{ readonly pid: number }>()),
  /**
   * Has everything that `compute-cluster up` has started end as by `kill -9`, puts a saved state in its place, and starts it again; it is
   * answered before, with the pid of `up`. What is asked of `up` after that answer is answered by what comes up then. Null: the state
   * after its start. `startHosts`: hosts are started, too, that were down when the state was saved.
   * @throws ConductorError there is no such snapshot, or no `up` has started this control plane.
   */
  restore_cluster: waits({ snapshot: nullable(name), startHosts: optional(flag) }, trusted<{ readonly pid: number }>()),
  /** What is still being done, as far as the state of record knows it. */
  cluster_work: waits({}, trusted<ClusterWork>()),
  /** What clients have asked of the services, and operators have done to hosts, since the last time; kept while somebody asks. */
  take_recorded: waits({}, trusted<Recorded>()),
  /**
   * A token for somebody as a recording of another cluster knows them, without that they log in: users, projects, roles and
   * application credentials that are not there are made. `placing`: the token has the role `admin` besides, to say on which host a
   * server is built. Who has the join token is given an administrator's tokens anyway.
   */
  stand_in: waits({ caller: recordedCaller, placing: optional(flag) }, trusted<StandIn>()),
};

/** Levels of arrays and objects of a body or an answer that is kept. */
export const RECORDED_DEPTH = 64;

/** What was asked of a service. */
export interface RecordedRequest {
  /** When it came, milliseconds since the epoch. */
  readonly at: number;
  /** Null: nobody; it was asked without a token that was valid. */
  readonly caller: RecordedCaller | null;
  readonly method: string;
  /** With the service's mount point and the query: `/compute/v2.1/servers?limit=1`. */
  readonly path: string;
  /** `compute 2.79` */
  readonly version?: string;
  readonly contentType?: string;
  /** JSON; null: none. */
  readonly body?: unknown;
  /** Bytes of a body that is none of JSON, as an image's: they are not kept. */
  readonly bytes?: number;
  /** Why the request cannot be made again. */
  readonly left?: string;
  readonly status: number;
  /** JSON; null: none, or too long. */
  readonly answer: unknown;
}

/** What an operator has done by a command: its words, without the program. */
export interface RecordedCommand {
  readonly at: number;
  readonly run: readonly string[];
}

export type RecordedEvent = RecordedRequest | RecordedCommand;

export interface Recorded {
  readonly events: readonly RecordedEvent[];
  /** Events that there was no room for. */
  readonly lost: number;
  /** There are some left already. */
  readonly more: boolean;
}

export interface ClusterWork {
  /** What the conductor has to do yet. */
  readonly tasks: number;
  /** Messages that an agent that is there has not taken yet. */
  readonly messages: number;
  /** The first servers that something is being done to. */
  readonly servers: readonly (Pick<Instance, "uuid" | "displayName"> & { readonly taskState: string })[];
  /** The first moves that have neither ended nor wait for their confirmation, with their server. */
  readonly moves: readonly { readonly type: string; readonly status: string; readonly instanceUuid: string }[];
}

/** The administrator of every cluster. @param project by its name */
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
