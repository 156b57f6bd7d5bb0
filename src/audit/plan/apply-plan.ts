import { isDeepStrictEqual } from "node:util";
import type { HttpMethod } from "../../runtime/http.js";
import type { Cloud } from "../cloud/open-cloud.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { inventoriesIn, readConsumer } from "../read/read-placement.js";
import type { ConsumerRecord } from "../read/records.js";
import { asArray, asNumber, asString, asStringOrNull } from "../read/response-fields.js";
import { changePort } from "./change-port.js";
import { changeVolume } from "./change-volume.js";
import type { ProviderDetails } from "./make-plan.js";
import { ALREADY, DONE, type Outcome, outcomeOf, rejectedOutcome } from "./outcome.js";
import type {
  Action,
  AllocationsAction,
  ConsumerChange,
  ConsumerState,
  Edit,
  Inventories,
  Plan,
  ProviderAction,
  ProviderState,
} from "./plan.js";

/** The first microversion with consumer types. */
const CONSUMER_TYPES = 38;

/**
 * The newest microversion without consumer types. A write with it preserves an existing consumer's type and sets none
 * on a new one.
 */
const WITHOUT_TYPES = 36;

const isTyped = ({ consumer_type }: ConsumerState): boolean => consumer_type !== null && consumer_type !== "unknown";

export interface Line {
  readonly edit: Edit;
  /** The edit's action, or its inverse. */
  readonly action: Action;
  readonly outcome: Outcome;
}

type ChangedServices = Pick<Cloud, "placement" | "network" | "blockStorage">;

/**
 * Applies a plan line by line. With `undo`, reverts it from the last line to the first. A rejected line does not stop
 * the others. Each line is atomic, so a plan can be applied again after a crash.
 * @throws {AuditError} a service no longer responds, or rejects the token
 */
export async function applyPlan(
  cloud: ChangedServices,
  { edits }: Plan,
  { undo, onLine = () => undefined }: { readonly undo: boolean; readonly onLine?: (line: Line) => void },
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const edit of undo ? edits.toReversed() : edits) {
    const action = undo ? edit.inverse : edit.action;
    const outcome = await applyAction(cloud, action);
    const line = { edit, action, outcome };
    lines.push(line);
    onLine(line);
  }
  return lines;
}

function applyAction({ placement, network, blockStorage }: ChangedServices, action: Action): Promise<Outcome> {
  switch (action.kind) {
    case "allocations":
      return changeAllocations(placement, action);
    case "set-port":
    case "create-binding":
    case "delete-binding":
      return changePort(network, action);
    case "set-volume":
    case "delete-attachment":
    case "irreversible":
      return changeVolume(blockStorage, action);
    default:
      return changeProvider(placement, action);
  }
}

/** Changes a provider if its state is still the one that the plan assumes. @throws {AuditError} */
async function changeProvider(placement: ServiceClient, action: ProviderAction): Promise<Outcome> {
  if (action.kind === "create-provider") {
    return createProvider(placement, action.provider);
  }
  const uuid = action.kind === "delete-provider" ? action.provider.uuid : action.uuid;
  const path = `/resource_providers/${uuid}`;
  const found = await placement.find(path);
  if (!found) {
    return action.kind === "delete-provider" ? ALREADY : rejectedOutcome(`provider ${uuid} is gone`);
  }
  const [generation, name] = [asNumber(found.generation), asString(found.name)];
  switch (action.kind) {
    case "delete-provider":
      return newerThan(uuid, action.generation, generation) ?? write(placement, "DELETE", path);
    case "rename-provider":
      if (name === action.after) {
        return ALREADY;
      }
      if (name !== action.before) {
        return rejectedOutcome(`provider ${uuid} is now named ${name}`);
      }
      return newerThan(uuid, action.generation, generation) ?? write(placement, "PUT", path, { name: action.after });
    case "set-inventories": {
      const is = await readInventories(placement, uuid);
      if (isDeepStrictEqual(is, action.after)) {
        return ALREADY;
      }
      if (!isDeepStrictEqual(is, action.before)) {
        return rejectedOutcome(`the inventories of provider ${uuid} have changed since the audit`);
      }
      const body = { resource_provider_generation: generation, inventories: action.after };
      return newerThan(uuid, action.generation, generation) ?? write(placement, "PUT", `${path}/inventories`, body);
    }
  }
}

function newerThan(uuid: string, assumed: number | null, is: number): Outcome | undefined {
  return assumed === null || assumed === is
    ? undefined
    : rejectedOutcome(`provider ${uuid} has changed since the audit: expected generation ${assumed}, found ${is}`);
}

async function write(placement: ServiceClient, method: HttpMethod, path: string, body?: unknown): Promise<Outcome> {
  return outcomeOf("Placement", await placement.request(method, path, body === undefined ? {} : { body }));
}

/**
 * Writes the consumers' allocations if the state of each is still the one that the plan assumes. @throws {AuditError}
 */
async function changeAllocations(placement: ServiceClient, { consumers }: AllocationsAction): Promise<Outcome> {
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
  return outcomeOf(
    "Placement",
    only && more === undefined
      ? await placement.request("PUT", `/allocations/${only[0]}`, { version, body: only[1] })
      : await placement.request("POST", "/allocations", { version, body: Object.fromEntries(bodies) }),
  );
}

function changedSince(
  { uuid, generation, before }: ConsumerChange,
  found: ConsumerRecord | undefined,
): string | undefined {
  const is = found?.generation ?? null;
  if (is !== generation) {
    return `consumer ${uuid} has changed since the audit: expected generation ${generation ?? "none"}, found ${is ?? "none"}`;
  }
  return isAt(found, before) ? undefined : `consumer ${uuid} does not have the allocations that the plan assumes`;
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

/** Returns undefined if both consumers with and without a type must be written, which no microversion supports. */
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

/** Placement requires owner and type even for a consumer without allocations. */
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

/** Creates a provider with all of its data. Completes one that was created partially. @throws {AuditError} */
async function createProvider(placement: ServiceClient, provider: ProviderState): Promise<Outcome> {
  const { uuid, name, parent } = provider;
  const found = await placement.find(`/resource_providers/${uuid}`);
  if (found) {
    const is = { name: asString(found.name), parent: asStringOrNull(found.parent_provider_uuid) };
    if (!isDeepStrictEqual(is, { name, parent })) {
      return rejectedOutcome(`provider ${uuid} exists already, named ${is.name}`);
    }
  } else {
    const body = { uuid, name, ...(parent === null ? {} : { parent_provider_uuid: parent }) };
    const created = await write(placement, "POST", "/resource_providers", body);
    if (created.state === "refused") {
      return created;
    }
  }
  const filled = await fill(placement, provider);
  return filled.state === "already" && !found ? DONE : filled;
}

/** Adds missing data. Existing data that differs belongs to another client. */
async function fill(placement: ServiceClient, provider: ProviderState): Promise<Outcome> {
  const { uuid, inventories, traits, aggregates } = provider;
  const [stock, details] = await Promise.all([readInventories(placement, uuid), readDetails(placement, uuid)]);
  const parts = [
    { path: "inventories", is: stock, desired: inventories, body: { inventories } },
    { path: "traits", is: details.traits, desired: traits, body: { traits } },
    { path: "aggregates", is: details.aggregates, desired: aggregates, body: { aggregates } },
  ];
  // If an agent has written the provider since, its data takes precedence.
  const missing = parts.filter(({ is, desired }) => !isDeepStrictEqual(is, desired) && Object.keys(desired).length > 0);
  for (const { path, is, body } of missing) {
    if (Object.keys(is).length > 0) {
      return rejectedOutcome(`the ${path} of provider ${uuid} have changed since the audit`);
    }
    const { generation } = await placement.get(`/resource_providers/${uuid}`);
    const guarded = { resource_provider_generation: asNumber(generation), ...body };
    const written = await write(placement, "PUT", `/resource_providers/${uuid}/${path}`, guarded);
    if (written.state === "refused") {
      return written;
    }
  }
  return missing.length === 0 ? ALREADY : DONE;
}

/** @throws {AuditError} */
async function readInventories(placement: ServiceClient, uuid: string): Promise<Inventories> {
  return inventoriesIn(await placement.get(`/resource_providers/${uuid}/inventories`));
}

/** Returns sorted traits and aggregates. @throws {AuditError} */
export async function readDetails(placement: ServiceClient, uuid: string): Promise<ProviderDetails> {
  const [{ traits }, { aggregates }] = await Promise.all([
    placement.get(`/resource_providers/${uuid}/traits`),
    placement.get(`/resource_providers/${uuid}/aggregates`),
  ]);
  return { traits: asArray(traits).map(asString).toSorted(), aggregates: asArray(aggregates).map(asString).toSorted() };
}
