import type { Capabilities } from "../virt/capabilities.js";
import type { DriverMethod } from "../virt/driver-methods.js";
import { type Instance, POWER_STATES, type PowerState } from "../virt/index.js";
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

/** One rule of the contract, with what shows whether a driver keeps it. */
export interface ContractCase {
  /** Short and stable; what waivers and reports name. */
  readonly code: string;
  /** Section of the contract. */
  readonly section: string;
  /** The rule, in one line. */
  readonly rule: string;
  /** Left out by the driver: the case is skipped. Methods that every driver has need not be named. */
  readonly needs?: readonly DriverMethod[];
  /** The driver does not have it: the case is skipped. */
  readonly capability?: keyof Capabilities;
  /** Only with an option of the check. */
  readonly option?: "reshape" | "canary" | "canary.memory";
  readonly run: (harness: DriverHarness) => Promise<void>;
  /** Where the check can do that, the rule is shown with processes that are really killed, too. */
  readonly killed?: KilledWork;
}

/** The driver breaks a rule; says which method, which rule, and what was found instead. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
  readonly method: string;

  constructor(method: string, rule: string, found: string, options?: ErrorOptions) {
    super(`${method} must ${rule}, but ${found}`, options);
    this.method = method;
  }
}

/** @throws {ContractViolation} */
export function must(holds: boolean, method: DriverMethod, rule: string, found: string): void {
  if (!holds) {
    throw new ContractViolation(method, rule, found);
  }
}

/** The call succeeds. @throws {ContractViolation} */
export async function succeeds<T>(work: Promise<T>, method: DriverMethod, rule: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ContractViolation(method, rule, `it threw ${textOf(error)}`, { cause: error });
  }
}

/** The call fails with one of these errors, by name. @throws {ContractViolation} */
export async function failsWith(
  work: Promise<unknown>,
  names: readonly string[],
  method: DriverMethod,
  when: string,
): Promise<void> {
  const rule = `throw ${names.join(" or ")} ${when}`;
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (outcome === undefined) {
    throw new ContractViolation(method, rule, "it succeeded");
  }
  if (!(outcome.error instanceof Error) || !names.includes(outcome.error.name)) {
    throw new ContractViolation(method, rule, `it threw ${textOf(outcome.error)}`, { cause: outcome.error });
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

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

/** By name, for messages. */
function stateName(state: PowerState): string {
  return Object.entries(POWER_STATES).find(([, number]) => number === state)?.[0] ?? String(state);
}

/** What `getInfo` and the list of guests say together. */
export async function guestOn({ host }: CheckedHost, instance: Instance): Promise<PowerState | "absent"> {
  return (await host.listInstanceUuids()).includes(instance.uuid) ? host.powerState(instance) : "absent";
}

export const wordFor = (state: PowerState | "absent"): string => (state === "absent" ? "absent" : stateName(state));

/** @throws {ContractViolation} */
export async function mustBe(
  on: CheckedHost,
  instance: Instance,
  expected: keyof typeof POWER_STATES | "absent",
  method: DriverMethod,
  when: string,
): Promise<void> {
  const found = await guestOn(on, instance);
  const held = expected === "absent" ? found === "absent" : found === POWER_STATES[expected];
  const rule = expected === "absent" ? `leave no guest ${when}` : `leave the guest ${expected} ${when}`;
  must(held, method, rule, `the guest is ${wordFor(found)} on ${on.name}`);
}
