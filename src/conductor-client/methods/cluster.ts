import { flag, name, nullable, optional } from "../../records/field.js";
import type { Instance } from "../../records/index.js";
import { trusted, waits } from "./method.js";
import { type RecordedCaller, recordedCaller, type StandIn } from "./recorded-caller.js";

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
