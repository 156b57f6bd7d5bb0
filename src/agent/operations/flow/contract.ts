import type { AgentMethod, AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import type { RequestContext } from "../../../conductor-client/port.js";
import type { Faults } from "../../../faults/faults.js";
import type { Instance, Migration } from "../../../records/index.js";
import type { KeyedLock } from "../../../runtime/locks.js";
import type { AgentContext, AgentView } from "../../context.js";
import type { AgentMetrics } from "../../metrics/metrics.js";
import type { ResourceTracker } from "../../tracker/contract.js";
import type { AdmissionRejection, AdmissionRule, Found, Gate } from "./admission.js";
import type { OutgoingMigrations } from "./outgoing-migrations.js";
import type { IncomingMoves, InterruptedRequests, LeftGuests, UnsettledMoves } from "./unfinished-work.js";

/** Methods that are about a host or its memory, and those whose question changes nothing. */
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

/** A rebuild on another host is an operation of its own. */
export type OperationName = InstanceMethod | "evacuate_instance";

interface Requests extends ParamsByMethod {
  readonly evacuate_instance: ParamsOf<AgentMethods, "rebuild_instance">;
}

type ParamsByMethod = { readonly [M in InstanceMethod]: ParamsOf<AgentMethods, M> };

export type RequestOf<M extends OperationName> = Requests[M];

export type ReplyOf<M extends OperationName> = M extends InstanceMethod ? ResultOf<AgentMethods, M> : null;

/** What every operation works with. */
export interface OperationServices {
  readonly context: AgentContext;
  readonly tracker: ResourceTracker;
  /** Moves to this host whose guests are on their way. */
  readonly incoming: IncomingMoves;
  /** Live migrations from this host. */
  readonly outgoing: OutgoingMigrations;
  readonly unsettled: UnsettledMoves;
  readonly interrupted: InterruptedRequests;
  readonly left: LeftGuests;
  /** One operation at a time for an instance. */
  readonly locks: KeyedLock<string>;
  /** One member of a server group at a time claims this host. */
  readonly groups: KeyedLock<string>;
  /** Asked before each step of an operation (flow/step-list.ts). */
  readonly faults?: StepFaults;
}

export type StepFaults = Pick<Faults, "hit">;

/** The caller that waits for the answer: asked again when the instance's lock is had, before anything is done. */
export type Caller = Pick<RequestContext, "assertCallerWaiting">;

/** One message that this host was sent. */
export interface Call<M extends OperationName> extends Gate {
  readonly method: M;
  readonly request: RequestOf<M>;
  readonly caller: Caller;
  /** The event of the instance's action. */
  readonly event: ActionEvent;
  /** Everything that they log carries the request's id. */
  readonly services: OperationServices;
}

interface ActionEvent {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly event: string;
}

/** The steps of one list, by name: a fault can be put before each. */
export interface NamedSteps {
  readonly operation: string;
  readonly names: readonly string[];
}

/** Begun when its message is admitted; of one that is refused nothing is done to the instance. */
export interface AdmittedFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  run(call: Call<M>, found: Found): Promise<void>;
  /** The instance is on another host, and the request is wanted there. */
  handOn?(call: Call<M>, host: string): Promise<unknown>;
  /** Gives back what was claimed for the message. */
  onRejected?(call: Call<M>, rejection: AdmissionRejection): Promise<void>;
}

/** Demands itself that its message is admitted: a refusal is the error that ends its event, and that its caller gets. */
export interface DemandingFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  handle(call: Call<M>): Promise<ReplyOf<M>>;
}

/** `build`: it waits for its turn first, without the instance's lock, so that the instance can be deleted meanwhile. */
export type Lock = "instance" | "build" | "none";

/** All that is said of one operation outside of its own flow. */
export interface Operation<M extends OperationName> {
  /** The event of the instance's action; default `compute_` and the method. */
  readonly event?: string;
  readonly lock: Lock;
  readonly admission: AdmissionRule;
  /** Stops the live migration of the instance that is under way here, and waits for its end: a copy holds no lock. */
  readonly stopsLiveMigration?: true;
  /** Taken by an agent that stops (spec 2.8): it ends what was begun. */
  readonly whileDraining?: true;
  readonly flow: AdmittedFlow<M> | DemandingFlow<M>;
}

/**
 * Operations on instances; each reads as its table of spec 6. Serialised per instance, and begun only when the instance is
 * where the operation needs it and its task_state is the request's (table.ts); else nothing is done to it.
 */
export interface Operations {
  /** @throws what the flow throws */
  run<M extends InstanceMethod>(method: M, request: RequestOf<M>, caller?: Caller): Promise<ReplyOf<M>>;
  /** What is left of a delete that died between "vm deleted" and "row destroyed" (spec 2.6). */
  completePartialDeletion(instance: Instance): Promise<void>;
  /** Spec 4.10 `_sync_power_states` for one instance. */
  syncInstancePowerState(instance: Instance): Promise<void>;
  /** Spec 6.6: an instance of this host follows its guest's power, which something outside Nova has changed. */
  updatePower(update: PowerUpdate): Promise<void>;
  /** Spec 2.6 OPT: goes on with, or ends, cold moves of this host's that nobody works on any more. */
  recoverColdMoves(options: StuckMoveOptions): Promise<void>;
  /** Whether one of these has failed, so that nobody works on that move: it is tried again at the next call. */
  readonly recoversAgain: boolean;
  /** Spec 2.6 OPT: ends live migrations from here that a process that is gone, or a conductor that did not answer, left halfway. */
  recoverLiveMigrations(): Promise<void>;
  /** Does work on an instance while no operation is at it. */
  exclusively(uuid: string, work: () => Promise<void>): Promise<void>;
  /**
   * Spec 6.5 OPT: notes what an earlier process should have removed here; {@link removeLeftGuests} does.
   * @param others instances of guests that are here, without those that are known to be this host's
   */
  findLeftGuests(others: readonly Instance[]): Promise<void>;
  /** Spec 6.1 OPT: removes the guests that failed operations have left here; what cannot be removed now is tried again later. */
  removeLeftGuests(): Promise<void>;
  /** Shutdown waits for them. */
  readonly incoming: IncomingMoves;
  readonly outgoing: OutgoingMigrations;
  readonly interrupted: InterruptedRequests;
  /** Messages that are carried out now, or wait for their turn. */
  readonly active: number;
}

/** The external event `power-update`. */
export interface PowerUpdate {
  readonly instanceUuid: string;
  readonly requestId: string;
  /** The event's tag: `POWER_ON` or `POWER_OFF`. Any other is ignored. */
  readonly target: string | null;
}

export interface StuckMoveOptions {
  /** Only those of which nothing was written since, ms. */
  readonly before: number;
  /** Looks at every move that ended here, too: only so are confirmations found that died between their last two writes. */
  readonly confirmed: boolean;
  /** The host's, of all types, as a start has listed them; default: they are asked for. */
  readonly listed?: readonly Migration[];
}

/** What a started agent is made of. */
export interface AgentServices extends AgentView {
  readonly tracker: ResourceTracker;
  readonly operations: Operations;
  readonly metrics: AgentMetrics;
}
