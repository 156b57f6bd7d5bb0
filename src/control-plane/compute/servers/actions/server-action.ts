import type { AgentCast, AgentMethods, InstanceParams } from "../../../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../../../conductor-client/methods/method.js";
import type { Instance, InstanceChanges, TaskState, VmState } from "../../../../records/index.js";
import { conflict } from "../../../http/http-error.js";
import { type SchemaVersions, schemas } from "../../../http/schemas.js";
import { isUp } from "../../api/agents.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { bodyOf } from "../../api/schema-parts.js";
import { assertNotLocked, findInstance } from "../find-server.js";

/** An action of POST /servers/{id}/action. */
export type ServerAction = ActionOfAll & (ChangingAction | AskingAction);

interface ActionOfAll {
  /** Its name in the body: `os-start`. */
  readonly name: string;
  readonly from?: number;
  readonly until?: number;
  /** The schema of the complete body. */
  readonly schema: SchemaVersions<unknown>;
}

/** An action whose checks and writes are one transaction. */
interface ChangingAction {
  readonly run: (call: Call) => ComputeResponse;
}

/** An action that waits for the agent's reply or the end of a task. It runs its own transactions. */
interface AskingAction {
  readonly ask: (call: Call) => ComputeResponse | Promise<ComputeResponse>;
}

/** Returns the schema of a body with a single property of any value. */
export function anyBody<T>(name: string): SchemaVersions<T> {
  return schemas<T>([1, bodyOf(name, {})]);
}

/** Records that the action was requested (spec 1.6). */
export function recordAction(call: Call, instance: Instance, action: string): void {
  call.store.actions.start({
    action,
    instanceUuid: instance.uuid,
    requestId: call.requestId,
    userId: call.credentials.userId,
    projectId: call.credentials.projectId,
  });
}

/**
 * Records the success of an action that needs nothing from the host, with the event that its agent would have written.
 */
export function endAction(
  {
    deps: {
      store: { actions },
    },
    requestId,
  }: Call,
  { uuid, host }: Instance,
  event: string,
): void {
  const id = actions.startEvent({ instanceUuid: uuid, requestId, event, host: host ?? "" });
  if (id !== null) {
    actions.finishEvent(id, { result: "Success" });
  }
}

export interface AllowedStates {
  readonly vm?: readonly VmState[];
  /** Default: no task. Null: any. */
  readonly task?: readonly (TaskState | null)[] | null;
}

/**
 * Checks that the instance is in one of the states and was launched, as Nova's `check_instance_state` does.
 * @param verb the operation's name in the message
 * @throws {HttpError} 409
 */
export function requireState(instance: Instance, verb: string, { vm, task = [null] }: AllowedStates): void {
  const reject = (attribute: string, state: string | null): never => {
    throw conflict(`Cannot '${verb}' instance ${instance.uuid} while it is in ${attribute} ${state ?? "None"}`);
  };
  if (vm && !vm.includes(instance.vmState)) {
    reject("vm_state", instance.vmState);
  }
  if (task && !task.includes(instance.taskState)) {
    reject("task_state", instance.taskState);
  }
  if (instance.launchedAt === null) {
    reject("launched_at", null);
  }
}

/**
 * Returns the host of the instance. Its agent may be down: it receives the message when it is up again, unless the
 * request has been superseded by then.
 * @throws {HttpError} 409
 */
export function requireHost({ host, uuid }: Instance): string {
  if (host === null) {
    throw conflict(`Instance ${uuid} is not ready`);
  }
  return host;
}

/** Returns the host of an instance that will move; its agent has to be up. @throws {HttpError} 409 */
export function requireAgent(deps: ComputeDeps, instance: Instance): string {
  const host = requireHost(instance);
  const service = deps.store.services.getByHost(host, "nova-compute");
  if (!service || !isUp(deps, service)) {
    throw conflict("Service is unavailable at this time.");
  }
  return host;
}

/** Agent methods whose only parameter is the instance. */
export type PlainMethod = {
  [M in AgentCast]: InstanceParams extends ParamsOf<AgentMethods, M> ? M : never;
}[AgentCast];

interface InstanceAction<T> {
  /** Name in the body: `os-start`, `pause`. */
  readonly name: string;
  readonly from?: number;
  readonly until?: number;
  /** The schema of the complete body. Default: any value. */
  readonly schema?: SchemaVersions<T>;
  readonly policy: string;
  /** Default: users with the role `member`. */
  readonly require?: (call: Call, policy: string) => void;
  /** Whether it is possible for a locked server, too. */
  readonly allowsLocked?: boolean;
  /** Absent if the action checks them itself. */
  readonly states?: AllowedStates;
  /** Verb in `Cannot 'start' instance …`. Default: the name. */
  readonly verb?: string;
  /** Returns the response; undefined for 202 without a body. */
  readonly run: (call: Call, instance: Instance, body: T) => ComputeResponse | undefined;
}

/** Creates an action on an instance, with the checks that most actions have in common, in Nova's order. */
export function instanceAction<T>(action: InstanceAction<T>): ServerAction {
  const { name, verb = name, schema = anyBody<T>(name), policy, states, run, ...rest } = action;
  const { require = requireMember, allowsLocked = false, ...versions } = rest;
  return {
    ...versions,
    name,
    schema,
    run: (call) => {
      const body = call.body(schema);
      const instance = findInstance(call);
      require(call, policy);
      if (!allowsLocked) {
        assertNotLocked(call, instance);
      }
      if (states) {
        requireState(instance, verb, states);
      }
      return run(call, instance, body) ?? { status: 202 };
    },
  };
}

interface AgentAction extends Omit<InstanceAction<unknown>, "run"> {
  /** Task state to set when the action begins. */
  readonly taskState: TaskState;
  readonly changes?: InstanceChanges;
  readonly method: PlainMethod;
}

/** Creates an action that one agent runs alone. */
export function agentAction({ taskState, changes, method, ...action }: AgentAction): ServerAction {
  return instanceAction({
    ...action,
    run: (call, instance) => {
      const host = requireHost(instance);
      begin(call, instance, { taskState, ...changes }, action.verb ?? action.name);
      call.deps.bus.cast(host, method, { instanceUuid: instance.uuid, requestId: call.requestId }, call.requestId);
    },
  });
}

/** Sets the task state and records the action. @throws a conflict (409) if another operation has begun */
export function begin(call: Call, instance: Instance, changes: InstanceChanges, action: string): void {
  const ours = { ...changes, taskRequestId: call.requestId };
  call.store.instances.save(instance.uuid, ours, { expectedTaskState: [instance.taskState] });
  recordAction(call, instance, action);
}
