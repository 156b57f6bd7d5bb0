import type { AgentMethod, AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import type { RequestContext } from "../../../conductor-client/port.js";
import type { Faults } from "../../../faults/faults.js";
import type { Migration } from "../../../records/index.js";
import type { KeyedLock } from "../../../runtime/locks.js";
import type { AgentContext } from "../../context.js";
import type { ResourceTracker } from "../../tracker/resource-tracker.js";
import type { AdmissionRejection, AdmissionRule, Found, Gate } from "./admission.js";
import type { OutgoingMigrations } from "./outgoing-migrations.js";
import type { IncomingMoves, InterruptedRequests, LeftGuests, UnsettledMoves } from "./unfinished-work.js";

/** Methods about a host or the agent's memory, and read-only methods. */
export type HostMethod =
  | "set_host_enabled"
  | "list_guests"
  | "check_instance_shared_storage"
  | "migration_ended"
  | "get_host_uptime"
  | "get_console_output"
  | "get_diagnostics"
  | "get_instance_diagnostics"
  | "external_instance_event";

/** The agent's methods that begin an operation on an instance. */
export type InstanceMethod = Exclude<AgentMethod, HostMethod>;

/** A rebuild on another host is a separate operation. */
export type OperationName = InstanceMethod | "evacuate_instance";

interface Requests extends ParamsByMethod {
  readonly evacuate_instance: ParamsOf<AgentMethods, "rebuild_instance">;
}

type ParamsByMethod = { readonly [M in InstanceMethod]: ParamsOf<AgentMethods, M> };

export type RequestOf<M extends OperationName> = Requests[M];

export type ReplyOf<M extends OperationName> = M extends InstanceMethod ? ResultOf<AgentMethods, M> : null;

/** The services that every operation uses. */
export interface OperationServices extends AgentContext {
  readonly tracker: ResourceTracker;
  /** Moves to this host whose guests have not arrived yet. */
  readonly incoming: IncomingMoves;
  /** Live migrations from this host. */
  readonly outgoing: OutgoingMigrations;
  readonly unsettled: UnsettledMoves;
  readonly interrupted: InterruptedRequests;
  readonly left: LeftGuests;
  /** Serialises the operations of an instance. */
  readonly locks: KeyedLock<string>;
  /** Serialises the claims of a server group's members on this host. */
  readonly groups: KeyedLock<string>;
  /** Fault rules, checked before each step of an operation (flow/step-list.ts). */
  readonly faults?: StepFaults;
}

export type StepFaults = Pick<Faults, "hit">;

/**
 * The caller that waits for the reply. It is checked again once the instance's lock is acquired, before anything is
 * done.
 */
export type Caller = Pick<RequestContext, "assertCallerWaiting">;

/** One message that this host received. */
export interface Call<M extends OperationName> extends Gate {
  readonly method: M;
  readonly request: RequestOf<M>;
  readonly caller: Caller;
  /** The event of the instance's action. */
  readonly event: ActionEvent;
  /** Their log records contain the request's id. */
  readonly services: OperationServices;
}

interface ActionEvent {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly event: string;
}

/** The step names of one list: a fault can be set before each. */
export interface NamedSteps {
  readonly operation: string;
  readonly names: readonly string[];
}

/** A flow that starts once its message is admitted; a rejected message changes nothing on the instance. */
export interface AdmittedFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  run(call: Call<M>, found: Found): Promise<void>;
  /** Forwards the request to the host that has the instance now. */
  handOn?(call: Call<M>, host: string): Promise<unknown>;
  /** Releases the allocations and claims of a rejected message. */
  onRejected?(call: Call<M>, rejection: AdmissionRejection): Promise<void>;
}

/** A flow that checks its own admission: a rejection becomes the error of its event and of the caller. */
export interface DemandingFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  handle(call: Call<M>): Promise<ReplyOf<M>>;
}

/** `build`: waits for its slot first, without the instance's lock, so that the instance can be deleted meanwhile. */
export type Lock = "instance" | "build" | "none";

/** The properties of one operation, apart from its flow. */
export interface Operation<M extends OperationName> {
  /** The event of the instance's action; default: `compute_` and the method. */
  readonly event?: string;
  readonly lock: Lock;
  readonly admission: AdmissionRule;
  /** Stops the instance's running live migration from here, and waits for its end: the copy does not lock the instance. */
  readonly stopsLiveMigration?: true;
  /** Accepted by a draining agent (spec 2.8): it ends an operation that has begun. */
  readonly whileDraining?: true;
  readonly flow: AdmittedFlow<M> | DemandingFlow<M>;
}

/** The external event `power-update`. */
export interface PowerUpdate {
  readonly instanceUuid: string;
  readonly requestId: string;
  /** The event's tag: `POWER_ON` or `POWER_OFF`. Any other is ignored. */
  readonly target: string | null;
}

export interface StuckMoveOptions {
  /** Only moves without a write since this time, in ms. */
  readonly before: number;
  /** Also checks all moves that ended here: only this finds confirmations that died between their last two writes. */
  readonly confirmed: boolean;
  /** The host's migrations of all types, as listed by a start; default: they are read. */
  readonly listed?: readonly Migration[];
}
