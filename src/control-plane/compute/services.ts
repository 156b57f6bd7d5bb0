import type { Service } from "../../records/index.js";
import { badRequest, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { schemas } from "../http/schemas.js";
import { isoMicroseconds } from "../http/times.js";
import { allServices, isUp } from "./api/agents.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import {
  BOOLEAN,
  boolFromText,
  HOSTNAME,
  isTrue,
  isUuidLike,
  MULTI,
  object,
  strictSince75,
} from "./api/schema-parts.js";

interface LegacyBody {
  readonly host: string;
  readonly binary: string;
  readonly disabled_reason?: string;
  readonly forced_down?: boolean | string;
}

interface UpdateBody {
  readonly status?: "enabled" | "disabled";
  readonly disabled_reason?: string;
  readonly forced_down?: boolean | string;
}

type Changes = Partial<Pick<Service, "disabled" | "disabledReason" | "forcedDown">>;

const POLICY = "os_compute_api:os-services:update";

const COMPUTE = "nova-compute";

const TEXT = { type: "string", minLength: 1, maxLength: 255 };

const LEGACY = { host: HOSTNAME, binary: TEXT, disabled_reason: TEXT };

const LEGACY_BODY = schemas<LegacyBody>(
  [1, object(LEGACY, ["host", "binary"])],
  [11, object({ ...LEGACY, forced_down: BOOLEAN }, ["host", "binary"])],
);

const UPDATE_BODY = schemas<UpdateBody>([
  53,
  object({ status: { type: "string", enum: ["enabled", "disabled"] }, disabled_reason: TEXT, forced_down: BOOLEAN }),
]);

const QUERY = schemas(...strictSince75({ host: MULTI(), binary: MULTI() }));

export const SERVICE_ROUTES = routes<ComputeRoute>({
  "GET /os-services": listServices,
  "PUT /os-services/:id": updateService,
  "DELETE /os-services/:id": deleteService,
});

/** Lists all services: Nova has no paging here. */
async function listServices(call: Call): Promise<ComputeResponse> {
  call.checkQuery(QUERY);
  requireAdmin(call, "os_compute_api:os-services:list");
  const [host, binary] = [call.query.get("host"), call.query.get("binary")];
  const views: Json[] = [];
  for await (const services of allServices(call.deps, { ...(host ? { host } : {}), ...(binary ? { binary } : {}) })) {
    views.push(...services.map((service) => serviceView(call.deps, service, call.version)));
  }
  return { body: { services: views } };
}

/**
 * Deletes a service (spec 7.1 steps 1 and 9). {@link ComputeDeps.deleteService} does the steps between them, and gets
 * `?force=true`.
 */
async function deleteService(call: Call): Promise<ComputeResponse> {
  requireAdmin(call, "os_compute_api:os-services:delete");
  const service = findService(call, (id) => `Service ${id} not found.`);
  if (service.binary === "nova-compute") {
    const force = boolFromText(call.query.get("force"));
    await call.deps.deleteService(service, { force, requestId: call.requestId });
  } else {
    call.store.services.destroy(service.id);
  }
  return { status: 204 };
}

/** Handles PUT /os-services/{action} before 2.53 and PUT /os-services/{uuid} since. */
function updateService(call: Call): Promise<ComputeResponse> {
  return call.version >= 53 ? updateByUuid(call) : updateByAction(call);
}

async function updateByUuid(call: Call): Promise<ComputeResponse> {
  const requested = call.body(UPDATE_BODY);
  requireAdmin(call, POLICY);
  const service = findService(call, (id) => `Service ${id} could not be found.`);
  assertComputeBinary(service.binary);
  if (requested.status === "enabled" && requested.disabled_reason !== undefined) {
    throw badRequest("Specifying 'disabled_reason' with status 'enabled' is invalid.");
  }
  if (requested.status === undefined && requested.forced_down === undefined) {
    throw badRequest("No updates were requested. Fields 'status' or 'forced_down' should be specified.");
  }
  const changed = await change(call, service, {
    ...(requested.status === undefined
      ? {}
      : { disabled: requested.status === "disabled", disabledReason: requested.disabled_reason ?? null }),
    ...(requested.forced_down === undefined ? {} : { forcedDown: isTrue(requested.forced_down) }),
  });
  return { body: { service: serviceView(call.deps, changed, call.version) } };
}

async function updateByAction(call: Call): Promise<ComputeResponse> {
  const requested = call.body(LEGACY_BODY);
  requireAdmin(call, POLICY);
  const { host, binary } = requested;
  const [changes, view] = legacyChanges(call, requested);
  assertComputeBinary(binary);
  const service = call.store.services.getByHost(host, binary);
  if (!service) {
    throw notFound(`Could not find binary ${binary} on host ${host}.`);
  }
  await change(call, service, changes);
  return { body: { service: { host, binary, ...view } } };
}

function legacyChanges(
  call: Call,
  requested: LegacyBody,
): readonly [Changes, Readonly<Record<string, string | boolean>>] {
  const { disabled_reason: reason, forced_down: forced } = requested;
  switch (call.param("id")) {
    case "enable":
      return [{ disabled: false, disabledReason: null }, { status: "enabled" }];
    case "disable":
      return [{ disabled: true, disabledReason: null }, { status: "disabled" }];
    case "disable-log-reason":
      if (reason === undefined) {
        throw badRequest("Missing disabled reason field");
      }
      return [
        { disabled: true, disabledReason: reason },
        { status: "disabled", disabled_reason: reason },
      ];
    case "force-down":
      if (call.version < 11) {
        throw notFound("Unknown action");
      }
      if (forced === undefined) {
        throw badRequest("Missing forced_down field");
      }
      return [{ forcedDown: isTrue(forced) }, { forced_down: isTrue(forced) }];
    default:
      throw notFound("Unknown action");
  }
}

/**
 * Stores the change, then notifies the agent (spec 2.5). If that fails, the agent's next periodic pass applies the
 * change.
 */
async function change(call: Call, service: Service, changes: Changes): Promise<Service> {
  const { store } = call;
  const changed = store.transaction(() => {
    if (changes.forcedDown === false) {
      assertEvacuationsDone(call.deps, service.host);
    }
    return store.services.update(service.id, changes);
  });
  if (changed.disabled !== service.disabled && isUp(call.deps, changed)) {
    await notifyAgent(call, changed);
  }
  return changed;
}

async function notifyAgent({ deps: { bus, logger }, requestId }: Call, { host, disabled }: Service): Promise<void> {
  try {
    await bus.call(host, "set_host_enabled", { enabled: !disabled }, { requestId });
  } catch (error) {
    logger.warn(
      "An error occurred while updating the COMPUTE_STATUS_DISABLED trait; the agent's next periodic pass will set it",
      { err: error, host, request_id: requestId },
    );
  }
}

function assertEvacuationsDone({ store }: ComputeDeps, host: string): void {
  const done = store.migrations.byFilters({ sourceCompute: host, migrationTypes: ["evacuation"], statuses: ["done"] });
  if (done.length > 0) {
    throw badRequest(
      `Unable to force up host ${host} as \`done\` evacuation migration records remain associated with the host. Ensure ` +
        "the compute service has been restarted, allowing these records to move to `completed` before retrying this request.",
    );
  }
}

function assertComputeBinary(binary: string): void {
  if (binary !== COMPUTE) {
    throw badRequest(`Updating a ${binary} service is not supported. Only nova-compute services can be updated.`);
  }
}

/** Returns the service that the path names, by uuid since 2.53 and by id before. @throws {HttpError} 400, 404 */
function findService(call: Call, missing: (id: string) => string): Service {
  const id = call.param("id");
  if (call.version >= 53 && !isUuidLike(id)) {
    throw badRequest(`Invalid uuid ${id}`);
  }
  if (call.version < 53 && !/^-?\d{1,15}$/.test(id)) {
    throw badRequest("Invalid input received: id must be an integer");
  }
  const service =
    call.version >= 53 ? call.store.services.getByUuid(id.toLowerCase()) : call.store.services.get(Number(id));
  if (!service) {
    throw notFound(missing(id));
  }
  return service;
}

function serviceView(deps: Pick<ComputeDeps, "clock" | "serviceDownTime">, service: Service, version: number): Json {
  return {
    binary: service.binary,
    host: service.host,
    id: version >= 53 ? service.uuid : service.id,
    zone: service.availabilityZone,
    status: service.disabled ? "disabled" : "enabled",
    state: isUp(deps, service) ? "up" : "down",
    updated_at: service.updatedAt === null ? null : isoMicroseconds(service.updatedAt),
    disabled_reason: service.disabledReason,
    ...(version >= 11 ? { forced_down: service.forcedDown } : {}),
  };
}
