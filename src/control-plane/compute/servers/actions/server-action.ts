import type { AgentCast, AgentMethods, InstanceParams } from "../../../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../../../conductor-client/methods/method.js";
import type { Instance, InstanceChanges, TaskState, VmState } from "../../../../records/index.js";
import { conflict } from "../../../http/http-error.js";
import type { SchemaVersions } from "../../../http/schemas.js";
import { isUp } from "../../api/agents.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
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
  readonly run: (deps: ComputeDeps, call: Call) => ComputeResponse;
}

/** An action that waits for the agent's reply or the end of a task. It runs its own transactions. */
interface AskingAction {
  readonly ask: (deps: ComputeDeps, call: Call) => ComputeResponse | Promise<ComputeResponse>;
}

/** Returns the schema of a body with a single property of any value. */
export function anyBody(name: string): SchemaVersions<unknown> {
  return {
    versions: [[1, { type: "object", properties: { [name]: {} }, required: [name], additionalProperties: false }]],
  };
}

/** Records that the action was requested (spec 1.6). */
export function recordAction({ store }: ComputeDeps, call: Call, instance: Instance, action: string): void {
  store.actions.start({
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
  { store: { actions } }: ComputeDeps,
  { requestId }: Call,
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
type PlainMethod = {
  [M in AgentCast]: InstanceParams extends ParamsOf<AgentMethods, M> ? M : never;
}[AgentCast];

interface AgentActionOptions {
  /** Name in the body: `os-start`, `pause`. */
  readonly name: string;
  /** Verb in `Cannot 'pause' instance …`, and the name of the recorded action. */
  readonly verb: string;
  readonly policy: string;
  readonly require?: (call: Call, policy: string) => void;
  readonly states: AllowedStates;
  /** Task state to set when the action begins. */
  readonly taskState: TaskState;
  readonly changes?: InstanceChanges;
  readonly method: PlainMethod;
  readonly schema?: SchemaVersions<unknown>;
}

/** Creates an action that one agent runs alone. */
export function agentAction(options: AgentActionOptions): ServerAction {
  const { name, verb, policy, require = requireMember, states, method, schema = anyBody(name) } = options;
  return {
    name,
    schema,
    run: (deps, call): ComputeResponse => {
      const instance = findInstance(deps, call);
      require(call, policy);
      assertNotLocked(call, instance);
      requireState(instance, verb, states);
      const host = requireHost(instance);
      begin(deps, call, instance, { taskState: options.taskState, ...options.changes }, verb);
      deps.bus.cast(host, method, { instanceUuid: instance.uuid, requestId: call.requestId }, call.requestId);
      return { status: 202 };
    },
  };
}

/** Sets the task state and records the action. @throws a conflict (409) if another operation has begun */
export function begin(
  deps: ComputeDeps,
  call: Call,
  instance: Instance,
  changes: InstanceChanges,
  action: string,
): void {
  const ours = { ...changes, taskRequestId: call.requestId };
  deps.store.instances.save(instance.uuid, ours, { expectedTaskState: [instance.taskState] });
  recordAction(deps, call, instance, action);
}
