import { HttpError } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { where } from "../../resources/condition.js";
import type { NetworkCall, NetworkRoute } from "../engine/network-call.js";
import type { NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import { hidden, isAllowed } from "../engine/network-policy.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { createRecord, deleteRecord, updateRecord } from "../engine/records.js";
import { NETWORKS } from "../resources/networks.js";
import { AUTO_ALLOCATED_TOPOLOGIES } from "../resources/read-only.js";
import { ROUTERS, type RouterRecord } from "../resources/routers.js";
import { SUBNETS } from "../resources/subnets.js";
import { findDefaultPool } from "./subnet-pools.js";

type Topology = NetworkRecord<typeof AUTO_ALLOCATED_TOPOLOGIES>;

/** Asks whether a topology could be created. */
const DRY_RUN = "dry-run";

/** Networks with a router to the default external network, for projects that need nothing else. */
export const TOPOLOGY_ROUTES = routes<NetworkRoute>(
  { "GET /:project": showTopology, "DELETE /:project": removeTopology },
  { prefix: AUTO_ALLOCATED_TOPOLOGIES.path },
);

function showTopology(call: NetworkCall): RouteResponse {
  const { context, fields } = call;
  const projectId = projectOf(call);
  if (fields.has(DRY_RUN)) {
    assertRequirements(context);
    assertReadable(context, projectId);
    const result = { id: "dry-run=pass", tenant_id: projectId, project_id: projectId };
    return { body: { [AUTO_ALLOCATED_TOPOLOGIES.singular]: result } };
  }
  if (fields.size > 0) {
    throw badResource("auto_allocate", "Unrecognized field.");
  }
  assertReadable(context, projectId);
  const id = ensureTopology(context, projectId);
  const topology = { id, tenant_id: projectId, project_id: projectId };
  return { body: { [AUTO_ALLOCATED_TOPOLOGIES.singular]: topology } };
}

/**
 * Returns the network of a project's topology, which it creates at first use.
 * @throws {HttpError} 409 without a default subnet pool or external network; 503 if a resource cannot be created
 */
export function ensureTopology(context: NetworkContext, projectId: string): string {
  return context.sql.transaction(() => findTopology(context, projectId) ?? createTopology(context, projectId)).id;
}

function removeTopology(call: NetworkCall): RouteResponse {
  const { context } = call;
  const projectId = projectOf(call);
  if (!isAllowed(context, "delete_auto_allocated_topology", AUTO_ALLOCATED_TOPOLOGIES, { project_id: projectId })) {
    throw hidden();
  }
  context.sql.transaction(() => {
    const topology = findTopology(context, projectId);
    if (topology !== undefined) {
      deleteTopology(context.internal, topology);
    }
  });
  return { status: 204 };
}

/** Returns the project of the path. @throws {HttpError} 403 for another project than the caller's */
function projectOf(call: NetworkCall): string {
  const { caller } = call.context;
  const named = call.param("project");
  // Some clients send Python's None if they do not know their project.
  const projectId = named === "None" ? caller.projectId : named;
  if (!caller.isAdmin && projectId !== caller.projectId) {
    throw networkError(403, "NotAuthorized", "Not authorized.");
  }
  return projectId;
}

function assertReadable(context: NetworkContext, projectId: string): void {
  if (!isAllowed(context, "get_auto_allocated_topology", AUTO_ALLOCATED_TOPOLOGIES, { project_id: projectId })) {
    throw hidden();
  }
}

function findTopology(context: NetworkContext, projectId: string): Topology | undefined {
  return context.table(AUTO_ALLOCATED_TOPOLOGIES).first(where`project_id = ${projectId}`);
}

function assertRequirements(context: NetworkContext): void {
  findExternalNetwork(context);
  if (findPools(context).length === 0) {
    throw failure("No default subnetpools defined");
  }
}

function findExternalNetwork(context: NetworkContext): string {
  const [external] = context.table(NETWORKS).ids(where`is_default = 1 AND router_external = 1`);
  if (external === undefined) {
    throw failure("No default router:external network");
  }
  return external;
}

function findPools(context: NetworkContext) {
  return [4, 6].flatMap((version) => findDefaultPool(context, version) ?? []);
}

function createTopology(context: NetworkContext, projectId: string): Topology {
  const external = findExternalNetwork(context);
  const network = createNetwork(context, projectId);
  const router = orFail("Unable to provide external connectivity", () =>
    connect(context, projectId, network, external),
  );
  const topology = { id: network, project_id: projectId, router_id: router };
  context.table(AUTO_ALLOCATED_TOPOLOGIES).insert(topology);
  updateRecord(context.internal, NETWORKS, network, { admin_state_up: true });
  return topology;
}

function createNetwork(context: NetworkContext, projectId: string): string {
  const pools = findPools(context);
  if (pools.length === 0) {
    throw failure("Unable to provide tenant private network");
  }
  return orFail("Unable to provide tenant private network", () => {
    const { internal } = context;
    const attributes = { name: "auto_allocated_network", admin_state_up: false, project_id: projectId };
    const { id } = createRecord(internal, NETWORKS, attributes);
    for (const pool of pools) {
      createRecord(internal, SUBNETS, {
        name: `auto_allocated_subnet_v${pool.ip_version}`,
        network_id: id,
        project_id: projectId,
        ip_version: pool.ip_version === 6 ? 6 : 4,
        subnetpool_id: pool.id,
      });
    }
    return id;
  });
}

function connect({ internal }: NetworkContext, projectId: string, networkId: string, external: string): string {
  const router = createRecord(internal, ROUTERS, {
    name: "auto_allocated_router",
    project_id: projectId,
    external_gateway_info: { network_id: external },
  });
  for (const subnet of internal.table(SUBNETS).ids(where`network_id = ${networkId}`)) {
    changeInterface(internal, "add_router_interface", router, subnet);
  }
  return router.id;
}

function deleteTopology(context: NetworkContext, { id, router_id: routerId }: Topology): void {
  const router = routerId === null ? undefined : context.table(ROUTERS).get(routerId);
  if (router !== undefined) {
    for (const subnet of context.table(SUBNETS).ids(where`network_id = ${id}`)) {
      changeInterface(context, "remove_router_interface", router, subnet);
    }
    deleteRecord(context, ROUTERS, router.id);
  }
  deleteRecord(context, NETWORKS, id);
}

function changeInterface(
  context: NetworkContext,
  action: "add_router_interface" | "remove_router_interface",
  router: RouterRecord,
  subnetId: string,
): void {
  const { actions } = context.services.registry.behaviourOf(ROUTERS);
  actions?.[action]?.(context, router as never, { subnet_id: subnetId });
}

/** Runs a part of the work; what a request could have done better is a failure of the topology. */
function orFail<T>(reason: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const isUnmet = error instanceof HttpError && (error.status === 400 || error.code === "SubnetAllocationError");
    throw isUnmet ? failure(reason) : error;
  }
}

function failure(reason: string): HttpError {
  return networkError(409, "AutoAllocationFailure", `Deployment error: ${reason}.`);
}
