import type { Instance } from "../../../records/index.js";
import type { AdmissionRejection } from "./admission.js";
import type {
  AdmittedFlow,
  Call,
  InstanceMethod,
  NamedSteps,
  OperationName,
  OperationServices,
  RequestOf,
} from "./contract.js";
import { mustNotUndo, type OpenEvent, withActionEvent, withActionEventAndFault } from "./error-wrappers.js";
import type { Move } from "./release-allocations.js";

/** Returned by a step: nothing is left to do, without an error. */
export const STOP = Symbol("stop");

/** One step of an operation. It writes its results into the progress. */
type Step<P> = (progress: P) => Promise<typeof STOP | undefined> | Promise<void>;

/** An operation as its ordered steps. Their names are data: faults are set before each of them by name. */
export interface StepList<P> {
  /** Usually the agent's method, e.g. `start_instance`. */
  readonly operation: string;
  readonly names: readonly string[];
  readonly steps: Readonly<Record<string, Step<P>>>;
}

export function stepList<P>(operation: string, steps: Readonly<Record<string, Step<P>>>): StepList<P> {
  return Object.freeze({ operation, names: Object.freeze(Object.keys(steps)), steps });
}

/** Returns the fault point before a step. */
export const faultPoint = (operation: string, step: string): string => `agent.${operation}.${step}`;

/**
 * Runs the steps in order; each begins after the one before has ended. Returns false if a step returned {@link STOP}.
 * @throws any error of a step, or of the fault before it; the later steps do not run
 */
export async function runSteps<P>(
  { faults }: Pick<OperationServices, "faults">,
  list: StepList<P>,
  progress: P,
): Promise<boolean> {
  for (const [name, step] of Object.entries(list.steps)) {
    await faults?.hit(faultPoint(list.operation, name));
    if ((await step(progress)) === STOP) {
      return false;
    }
  }
  return true;
}

interface Progress {
  readonly services: OperationServices;
}

/**
 * Runs the steps within the event of the action, which ends as an error when one fails. The operation's `failed` then
 * decides about the instance. Returns true if no step failed or stopped.
 * @throws any error of `failed`; or the step's error, if completed work must be left as after a crash
 */
export async function runOperation<P extends Progress>(
  { event }: Pick<Call<OperationName>, "event">,
  list: StepList<P>,
  progress: P,
  failed: (progress: P, error: unknown, event: OpenEvent) => Promise<void>,
): Promise<boolean> {
  const { services } = progress;
  return withActionEvent(services, event, async (open) => {
    try {
      return await runSteps(services, list, progress);
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      open.fail(error);
      await failed(progress, error, open);
      return false;
    }
  });
}

/** The progress of an operation on a guest of this host. */
export interface GuestProgress<R> {
  readonly services: OperationServices;
  readonly request: R;
  /** As last saved. */
  instance: Instance;
}

interface Hooks<P> {
  readonly after?: (progress: P) => Promise<unknown>;
  readonly failed?: (progress: P) => Promise<void>;
}

/**
 * Creates an operation on a guest of this host. When a step fails, the instance gets a fault and its task_state is
 * cleared; the message follows an instance that has moved.
 * @param after runs after the steps, within the same event
 * @param failed cleans up after a failed step, before the task_state is cleared; not called if everything must be left
 * as after a crash; must not throw
 */
export function guestFlow<M extends InstanceMethod>(
  method: M,
  steps: Readonly<Record<string, Step<GuestProgress<RequestOf<M>>>>>,
  { after, failed }: Hooks<GuestProgress<RequestOf<M>>> = {},
): AdmittedFlow<M> & { readonly list: ReturnType<typeof stepList<GuestProgress<RequestOf<M>>>> } {
  const list = stepList(method, steps);
  return {
    list,
    steps: [list],
    handOn: followGuest,
    run: async ({ services, request, event }, { instance }) => {
      const progress: GuestProgress<RequestOf<M>> = { services, request, instance };
      await withActionEventAndFault(services, event, async () => {
        try {
          await runSteps(services, list, progress);
        } catch (error) {
          if (!mustNotUndo(error)) {
            await failed?.(progress);
          }
          throw error;
        }
        await after?.(progress);
      });
    },
  };
}

/** Sends the message to the host that has the instance now. */
export async function followGuest({ services, method, request }: Call<InstanceMethod>, host: string): Promise<void> {
  await services.conductor.castAgent(host, method, request);
}

/** The progress of a step of a migration, on one of its hosts. */
interface MoveProgress<R> {
  readonly services: OperationServices;
  readonly request: R;
  readonly move: Move;
}

interface MoveFlow<M extends OperationName> {
  readonly steps: readonly NamedSteps[];
  run(progress: MoveProgress<RequestOf<M>>, call: Call<M>): Promise<unknown>;
  onRejected?(progress: MoveProgress<RequestOf<M>>, rejection: AdmissionRejection): Promise<void>;
}

/** Creates the flow; it does nothing if the instance's or the migration's record is missing. */
export function moveFlow<M extends OperationName>({ steps, run, onRejected }: MoveFlow<M>): AdmittedFlow<M> {
  return {
    steps,
    run: async (call, { instance, migration }) => {
      if (migration) {
        await run({ services: call.services, request: call.request, move: { instance, migration } }, call);
      }
    },
    onRejected: async ({ services, request }, rejection) => {
      const { instance, migration } = rejection.found ?? {};
      if (instance && migration) {
        await onRejected?.({ services, request, move: { instance, migration } }, rejection);
      }
    },
  };
}
