import type { DriverMethod } from "../virt/driver-methods.js";
import type { Instance } from "../virt/index.js";
import type { CheckedHost, DriverHarness } from "./driver-harness.js";

/** The server that the work is about; on its new host too, if it moves. JSON. */
export interface WorkSubject {
  readonly instance: Instance;
  readonly moved: Instance | null;
}

/** Work of a driver, about to begin. */
interface BegunWork extends WorkSubject {
  /** The host whose agent is killed in it. */
  readonly on: CheckedHost;
  readonly work: () => Promise<unknown>;
}

/** Work that a driver may be killed in, and what the next one must be able to do. */
export interface KilledWork {
  /** undefined: nothing is under way when the agent is killed. */
  readonly method?: DriverMethod;
  readonly begin: (harness: DriverHarness) => Promise<BegunWork>;
  /** @param killed `when spawn was killed at call 3` */
  readonly look: (harness: DriverHarness, subject: WorkSubject, killed: string) => Promise<void>;
}

/** How often work is broken off at most. */
const MANY = 60;

/** Breaks the work off at each call of its doors in turn, and looks each time. */
export async function brokenOffEverywhere(harness: DriverHarness, { method, begin, look }: KilledWork): Promise<void> {
  for (let call = 1; call <= MANY; call += 1) {
    const { on, work, instance, moved } = await begin(harness);
    on.sabotage.arm(call);
    await work().catch(() => {});
    const { struck } = on.sabotage;
    on.sabotage.disarm();
    await look(harness, { instance, moved }, `when ${method} was killed at call ${call}`);
    await harness.destroyGuests();
    harness.adapterCalls = call - 1;
    if (!struck) {
      break;
    }
  }
}
