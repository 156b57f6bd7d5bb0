import { ResourceProviderUpdateConflict } from "../../../placement-client/errors.js";
import { addAggregateHost, removeAggregateHost } from "../../store/aggregate-hosts.js";
import type { Aggregate } from "../../store/aggregates.js";
import { AggregateHostNotFound } from "../../store/store-errors.js";
import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, conflict, notFound } from "../api/fault.js";
import { requireAdmin } from "../api/policy.js";
import { aggregateView } from "./aggregate-view.js";
import { findAggregate } from "./find-aggregate.js";
import { ADD_HOST, REMOVE_HOST, SET_METADATA } from "./schemas.js";
import { findServersZoneRejection, findZoneRejection } from "./zone-rules.js";

type Action = (deps: ComputeDeps, call: Call) => Aggregate | Promise<Aggregate>;

const POLICY = "os_compute_api:os-aggregates:";

/** POST /os-aggregates/{id}/action: the body has one member, which names the action. */
export async function aggregateAction(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  const body = call.json();
  const [name = "", ...more] = typeof body === "object" && body !== null ? Object.keys(body) : [];
  const action = more.length === 0 && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) {
    throw badRequest(`There is no such action: ${name}`);
  }
  return { body: { aggregate: aggregateView(await action(deps, call), call.version) } };
}

function addHost(deps: ComputeDeps, call: Call): Aggregate | Promise<Aggregate> {
  const { host } = call.body(ADD_HOST).add_host;
  requireAdmin(call, `${POLICY}add_host`);
  const { store } = deps;
  if (!store.mappings.host(host)) {
    throw notFound(`Host '${host}' is not mapped to any cell`);
  }
  if (!isComputeHost(deps, host)) {
    throw notFound(`Compute host ${host} could not be found.`);
  }
  const aggregate = findAggregate(deps, call);
  const rejection =
    findZoneRejection(store, aggregate, aggregate.metadata, { hosts: [host], noInstances: false }) ??
    findServersZoneRejection(store, aggregate, host, "added to");
  if (rejection) {
    throw conflict(`Cannot add host to aggregate ${aggregate.id}. Reason: ${rejection}.`);
  }
  return addAggregateHost(deps, aggregate, host, call.requestId);
}

async function removeHost(deps: ComputeDeps, call: Call): Promise<Aggregate> {
  const { host } = call.body(REMOVE_HOST).remove_host;
  requireAdmin(call, `${POLICY}remove_host`);
  const missing = notFound(`Cannot remove host ${host} in aggregate ${call.param("id")}`);
  const aggregate = findAggregate(deps, call);
  if (!aggregate.hosts.includes(host)) {
    throw missing;
  }
  const rejection = findServersZoneRejection(deps.store, aggregate, host, "removed from");
  if (rejection) {
    throw conflict(`Cannot remove host from aggregate ${aggregate.id}. Reason: ${rejection}.`);
  }
  try {
    return await removeAggregateHost(deps, aggregate, host, call.requestId);
  } catch (error) {
    if (error instanceof AggregateHostNotFound) {
      throw missing;
    }
    throw error instanceof ResourceProviderUpdateConflict ? conflict(error.message) : error;
  }
}

/** As Nova does, the response has the time of the change as `updated_at`, which is not stored. */
function setMetadata(deps: ComputeDeps, call: Call): Aggregate {
  const { metadata } = call.body(SET_METADATA).set_metadata;
  requireAdmin(call, `${POLICY}set_metadata`);
  return deps.store.transaction(() => {
    const aggregate = findAggregate(deps, call);
    const rejection = findZoneRejection(deps.store, aggregate, metadata, { hosts: aggregate.hosts, noInstances: true });
    if (rejection) {
      throw badRequest(`Cannot update metadata of aggregate ${aggregate.id}. Reason: ${rejection}.`);
    }
    return { ...deps.store.aggregates.update(aggregate.id, { metadata }), updatedAt: deps.clock.now() };
  });
}

const ACTIONS: Readonly<Record<string, Action>> = {
  add_host: addHost,
  remove_host: removeHost,
  set_metadata: setMetadata,
};

function isComputeHost({ store }: ComputeDeps, host: string): boolean {
  return store.services.getByHost(host, "nova-compute") !== null;
}
