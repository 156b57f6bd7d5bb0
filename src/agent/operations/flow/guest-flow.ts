import type { Instance } from "../../../records/index.js";
import type { AdmittedFlow, Call, InstanceMethod, OperationServices, RequestOf } from "../contract.js";
import { mustNotUndo, operation } from "./error-wrappers.js";
import { runSteps, type Step, stepList } from "./step-list.js";

/** How far an operation on a guest of this host came. */
export interface GuestProgress<R> {
  readonly services: OperationServices;
  readonly request: R;
  /** As it was stored last. */
  instance: Instance;
}

interface Hooks<P> {
  readonly after?: (progress: P) => Promise<unknown>;
  readonly failed?: (progress: P) => Promise<void>;
}

/**
 * An operation on a guest of this host. When a step fails, the instance gets a fault and has no task_state any more; its
 * message follows an instance that has moved.
 * @param after what follows the steps, in the same event
 * @param failed what a failed step leaves to do, before the task_state goes; not done where all is to be left as after a crash; does not throw
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
      await operation(services.context, event, async () => {
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
  await services.context.conductor.castAgent(host, method, request);
}
