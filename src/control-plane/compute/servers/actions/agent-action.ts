import type { AgentCast, AgentMethods, InstanceParams } from "../../../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../../../conductor-client/methods/method.js";
import type { Instance, InstanceChanges, TaskState } from "../../../../records/index.js";
import type { Call, ComputeResponse } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { requireMember } from "../../api/policy.js";
import type { SchemaVersions } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import {
  type AllowedStates,
  anyBody,
  recordAction,
  requireHost,
  requireState,
  type ServerAction,
} from "./server-action.js";

/** Methods of agents whose only parameter is the instance. */
type PlainMethod = {
  [M in AgentCast]: InstanceParams extends ParamsOf<AgentMethods, M> ? M : never;
}[AgentCast];

export interface AgentActionOptions {
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
