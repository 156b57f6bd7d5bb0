import type { Capabilities } from "../virt/capabilities.js";
import type { DriverMethod } from "../virt/driver-methods.js";
import { type Instance, POWER_STATES, type PowerState } from "../virt/index.js";
import type { CheckedHost, DriverHarness } from "./driver-harness.js";

/** The server that the work is about, and the same server on its new host if it moves. JSON. */
export interface WorkSubject {
  readonly instance: Instance;
  readonly moved: Instance | null;
}

/** Work of a driver that is ready to start. */
interface BegunWork extends WorkSubject {
  /** The host whose agent is killed during the work. */
  readonly on: CheckedHost;
  readonly work: () => Promise<unknown>;
}

/** Work during which a driver is killed, and the checks of the next driver. */
export interface KilledWork {
  /** undefined if no call is pending when the agent is killed. */
  readonly method?: DriverMethod;
  readonly begin: (harness: DriverHarness) => Promise<BegunWork>;
  /** @param killed for messages: `when spawn was killed at call 3` */
  readonly look: (harness: DriverHarness, subject: WorkSubject, killed: string) => Promise<void>;
}

/** Maximum number of interruptions of one work. */
const MANY = 60;

/** One rule of the contract, with its check. */
export interface ContractCase {
  /** Short and stable code, for waivers and reports. */
  readonly code: string;
  /** Section of the contract. */
  readonly section: string;
  /** The rule, in one line. */
  readonly rule: string;
  /** Methods without which the case is skipped. Required methods need not be named. */
  readonly needs?: readonly DriverMethod[];
  /** Capability without which the case is skipped. */
  readonly capability?: keyof Capabilities;
  /** Option of the check without which the case is skipped. */
  readonly option?: "reshape" | "canary" | "canary.memory";
  readonly run: (harness: DriverHarness) => Promise<void>;
  /** The variant with processes that are really killed, for checks that support it. */
  readonly killed?: KilledWork;
}

/** Adds the section to cases without one of their own. */
export function inSection(
  section: string,
  cases: readonly (Omit<ContractCase, "section"> & Partial<Pick<ContractCase, "section">>)[],
): readonly ContractCase[] {
  return cases.map((each) => ({ section, ...each }));
}

/** Creates the check of a rule about a guest that runs. */
export function onGuest(
  check: (on: CheckedHost, instance: Instance, harness: DriverHarness) => Promise<void>,
): ContractCase["run"] {
  return async (harness) => {
    const on = await harness.connect();
    await check(on, await harness.spawned(on), harness);
  };
}

/** Creates the check of a rule about a guest that runs on the source, and can move to the destination. */
export function onTwoHosts(
  check: (source: CheckedHost, destination: CheckedHost, instance: Instance, harness: DriverHarness) => Promise<void>,
): ContractCase["run"] {
  return async (harness) => {
    const [source, destination] = await harness.connectBoth();
    await check(source, destination, await harness.spawned(source), harness);
  };
}

/** A violation of a rule by the driver. The message names the method, the rule, and the observed behaviour. */
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

/** Asserts that the call succeeds. @throws {ContractViolation} */
export async function succeeds<T>(work: Promise<T>, method: DriverMethod, rule: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ContractViolation(method, rule, `it threw ${textOf(error)}`, { cause: error });
  }
}

/** Asserts that the call fails with one of these errors, by name. @throws {ContractViolation} */
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

/** Interrupts the work at each call of its interfaces in turn, and checks the state after each interruption. */
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

/** Returns the name of a power state, for messages. */
function stateName(state: PowerState): string {
  return Object.entries(POWER_STATES).find(([, number]) => number === state)?.[0] ?? String(state);
}

/** Combines `getInfo` and the list of guests. */
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
