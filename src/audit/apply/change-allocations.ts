import { isDeepStrictEqual } from "node:util";
import { detail, type ServiceClient } from "../cloud/service-client.js";
import type { AllocationsAction, ConsumerChange, ConsumerState } from "../plan/plan.js";
import { readConsumer } from "../read/read-placement.js";
import type { ConsumerRecord } from "../read/records.js";
import { ALREADY, DONE, type Outcome, rejectedOutcome } from "./outcome.js";

/** From here on consumers have types. */
const CONSUMER_TYPES = 38;
/** The newest below: what is written keeps the type that a consumer has, and gives none to a new one. */
const WITHOUT_TYPES = 36;

/** Writes what the consumers are to hold, if each still is as the plan assumes. @throws {CloudError} */
export async function changeAllocations(placement: ServiceClient, { consumers }: AllocationsAction): Promise<Outcome> {
  const found = await Promise.all(consumers.map(({ uuid }) => readConsumer(placement, uuid)));
  if (consumers.every(({ after }, index) => isAt(found[index], after))) {
    return ALREADY;
  }
  for (const [index, change] of consumers.entries()) {
    const problem = changedSince(change, found[index]);
    if (problem !== undefined) {
      return rejectedOutcome(problem);
    }
  }
  const version = versionFor(placement, consumers);
  if (version === undefined) {
    return rejectedOutcome("some of its consumers have a type and some have none; edit them by hand");
  }
  const bodies = consumers.map((change, index) => [change.uuid, bodyOf(change, found[index], version)] as const);
  const [only, more] = bodies;
  const response =
    only && more === undefined
      ? await placement.request("PUT", `/allocations/${only[0]}`, { version, body: only[1] })
      : await placement.request("POST", "/allocations", { version, body: Object.fromEntries(bodies) });
  return response.status < 300
    ? DONE
    : rejectedOutcome(`Placement answered ${response.status}${detail(response.body)}`);
}

function changedSince(
  { uuid, generation, before }: ConsumerChange,
  found: ConsumerRecord | undefined,
): string | undefined {
  const is = found?.generation ?? null;
  if (is !== generation) {
    return `consumer ${uuid} has changed since: its generation was to be ${generation ?? "none"}, it is ${is ?? "none"}`;
  }
  return isAt(found, before) ? undefined : `consumer ${uuid} does not hold what the plan assumes`;
}

function isAt(found: ConsumerRecord | undefined, state: ConsumerState): boolean {
  if (!found || !isDeepStrictEqual(found.held, state.allocations)) {
    return false;
  }
  if (Object.keys(state.allocations).length === 0) {
    return true;
  }
  const sameType = found.type === null || state.consumer_type === null || found.type === state.consumer_type;
  return found.projectId === state.project_id && found.userId === state.user_id && sameType;
}

const isTyped = ({ consumer_type }: ConsumerState): boolean => consumer_type !== null && consumer_type !== "unknown";

/** Undefined: no microversion writes both consumers with a type and consumers without. */
function versionFor(placement: ServiceClient, consumers: readonly ConsumerChange[]): number | undefined {
  const remaining = consumers
    .map(({ after }) => after)
    .filter(({ allocations }) => Object.keys(allocations).length > 0);
  const typed = remaining.filter(isTyped).length;
  if (typed === 0 || placement.version < CONSUMER_TYPES) {
    return Math.min(placement.version, WITHOUT_TYPES);
  }
  return typed === remaining.length ? placement.version : undefined;
}

/** Placement wants owner and type even for a consumer that will hold nothing. */
function bodyOf({ generation, before, after }: ConsumerChange, found: ConsumerRecord | undefined, version: number) {
  const named = Object.keys(after.allocations).length > 0 ? after : before;
  return {
    allocations: Object.fromEntries(
      Object.entries(after.allocations).map(([uuid, resources]) => [uuid, { resources }]),
    ),
    project_id: named.project_id ?? found?.projectId ?? "",
    user_id: named.user_id ?? found?.userId ?? "",
    consumer_generation: generation,
    ...(version < CONSUMER_TYPES ? {} : { consumer_type: isTyped(named) ? named.consumer_type : "INSTANCE" }),
  };
}
