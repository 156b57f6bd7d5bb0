import type { AgentCast, AgentMethods, InstanceParams } from "../../../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../../../conductor-client/methods/method.js";
import type { Instance, InstanceChanges, TaskState, VmState } from "../../../../records/index.js";
import { isUp } from "../../api/agents.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { conflict } from "../../api/fault.js";
import type { SchemaVersions } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";

/** One member of POST /servers/{id}/action; each has a file of its own. */
export type ServerAction = ActionOfAll & (ChangingAction | AskingAction);

interface ActionOfAll {
  /** Its name in the body: `os-start`. */
  readonly name: string;
  readonly from?: number;
  readonly until?: number;
  /** The schema of the whole body. */
  readonly schema: SchemaVersions<unknown>;
}

/** What it checks and writes is one transaction. */
interface ChangingAction {
  readonly run: (deps: ComputeDeps, call: Call) => ComputeResponse;
}

/** Waits for the response of the server's host, or for the end of a task; makes its own transactions. */
interface AskingAction {
  readonly ask: (deps: ComputeDeps, call: Call) => ComputeResponse | Promise<ComputeResponse>;
}

/** A body whose only member may be anything. */
export function anyBody(name: string): SchemaVersions<unknown> {
  return {
    versions: [[1, { type: "object", properties: { [name]: {} }, required: [name], additionalProperties: false }]],
  };
}

/** Records that the action was asked for (spec 1.6). */
export function recordAction({ store }: ComputeDeps, call: Call, instance: Instance, action: string): void {
  store.actions.start({
    action,
    instanceUuid: instance.uuid,
    requestId: call.requestId,
    userId: call.credentials.userId,
    projectId: call.credentials.projectId,
  });
}

/** Records that the action has succeeded, if there is nothing for the server's host to do: with the event of its agent. */
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
  /** Default: none under way. Null: any. */
  readonly task?: readonly (TaskState | null)[] | null;
}

/**
 * Requires one of the states, and an instance that has run on a host, as Nova's `check_instance_state`.
 * @param verb the operation, as the message names it @throws {Fault} 409
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
 * The host of the instance. Its agent may be down: it gets the message when it is back, if the request is still wanted
 * then. @throws {Fault} 409
 */
export function requireHost({ host, uuid }: Instance): string {
  if (host === null) {
    throw conflict(`Instance ${uuid} is not ready`);
  }
  return host;
}

/** The host of an instance that is to move: its agent has to be up. @throws {Fault} 409 */
export function requireAgent(deps: ComputeDeps, instance: Instance): string {
  const host = requireHost(instance);
  const service = deps.store.services.getByHost(host, "nova-compute");
  if (!service || !isUp(deps, service)) {
    throw conflict("Service is unavailable at this time.");
  }
  return host;
}

/** Methods of agents whose only parameter is the instance. */
type PlainMethod = {
  [M in AgentCast]: InstanceParams extends ParamsOf<AgentMethods, M> ? M : never;
}[AgentCast];

interface AgentActionOptions {
  /** In the body: `os-start`, `pause`. */
  readonly name: string;
  /** In `Cannot 'pause' instance …`, and the name of the recorded action. */
  readonly verb: string;
  readonly policy: string;
  readonly require?: (call: Call, policy: string) => void;
  readonly states: AllowedStates;
  /** Under way from now on. */
  readonly taskState: TaskState;
  readonly changes?: InstanceChanges;
  readonly method: PlainMethod;
  readonly schema?: SchemaVersions<unknown>;
}

/** An action that one agent carries out by itself. */
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

/** Marks the operation on the instance, unless another one has begun (409), and records it. */
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
