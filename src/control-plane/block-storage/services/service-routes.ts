import { badRequest, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { isoMicroseconds } from "../../http/times.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidInput } from "../engine/block-storage-errors.js";
import { SERVICES, type Service } from "../resources/administration.js";
import { findService, isVolumeServiceDown } from "./pools.js";

const UPDATE = "volume_extension:services:update";

/** Whether the service reports its state. One whose back end is no longer configured does not. */
function isUp(context: BlockStorageContext, { binary, host }: Service): boolean {
  const { options } = context.services;
  const isConfigured = options.backEnds.some(({ name }) => host === `${options.host}@${name}`);
  return binary !== "cinder-volume" || (isConfigured && !isVolumeServiceDown(context));
}

function viewOf({ context, version }: BlockStorageCall, service: Service) {
  const { binary, host, availability_zone: zone, disabled, disabled_reason, frozen } = service;
  const isVolume = binary === "cinder-volume";
  const state = isUp(context, service) ? "up" : "down";
  return {
    ...{ binary, host, zone, status: disabled ? "disabled" : "enabled", state },
    updated_at: isoMicroseconds(context.now),
    ...(version >= 49 && isVolume && { backend_state: disabled ? null : state }),
    ...(version >= 7 && { cluster: null }),
    disabled_reason,
    ...(isVolume && { replication_status: "disabled", active_backend_id: null, frozen }),
  };
}

function listServices(call: BlockStorageCall): RouteResponse {
  const { context, query } = call;
  context.authorize("volume_extension:services:index");
  const [host, binary] = [query.get("host"), query.get("binary")];
  const services = context
    .table(SERVICES)
    .list()
    .filter((service) => binary === undefined || service.binary === binary)
    .filter((service) => host === undefined || service.host === host || service.host.split("@")[0] === host);
  return { body: { services: services.map((service) => viewOf(call, service)) } };
}

/** @throws {HttpError} 400, 404 */
function serviceOf(context: BlockStorageContext, body: Body): Service {
  const [host, binary] = [String(body.host ?? ""), String(body.binary ?? body.service ?? "")];
  const service =
    findService(context, binary, host) ??
    context.table(SERVICES).first(where`binary = ${binary} AND host LIKE ${`${host}@%`}`);
  if (service === undefined) {
    throw notFound(`Service ${binary} could not be found on host ${host}.`);
  }
  return service;
}

/** Enables or disables a service. Disabled ones get no volumes. A former reason stays, as in Cinder. */
function setDisabled(disabled: boolean, withReason: boolean) {
  return ({ context }: BlockStorageCall, body: Body): RouteResponse => {
    const reason = withReason ? String(body.disabled_reason ?? "").trim() : "";
    if (withReason && body.disabled_reason === "") {
      throw badRequest("Invalid input for field/attribute disabled_reason. Value: . '' is too short");
    }
    if (withReason && (reason === "" || reason.length > 255)) {
      throw invalidInput("Disabled reason contains invalid characters or is too long");
    }
    const { id, binary } = serviceOf(context, body);
    context.change(SERVICES, id, { disabled, ...(withReason && { disabled_reason: reason }) });
    const status = disabled ? "disabled" : "enabled";
    const service = String(body.service ?? "");
    return {
      body: {
        ...(withReason && { disabled_reason: reason }),
        disabled,
        host: String(body.host ?? ""),
        service,
        binary,
        status,
      },
    };
  };
}

function setFrozen(frozen: boolean, rule: string) {
  return ({ context }: BlockStorageCall, body: Body): RouteResponse => {
    context.authorize(rule);
    const service = findService(context, "cinder-volume", String(body.host ?? ""));
    if (service === undefined) {
      throw invalidInput(`Service ${String(body.host ?? "")} could not be found.`);
    }
    context.change(SERVICES, service.id, { frozen });
    return {};
  };
}

/** Actions on services by their names in the path. */
const ACTIONS: Readonly<Record<string, (call: BlockStorageCall, body: Body) => RouteResponse>> = {
  enable: setDisabled(false, false),
  disable: setDisabled(true, false),
  "disable-log-reason": setDisabled(true, true),
  freeze: setFrozen(true, "volume:freeze_host"),
  thaw: setFrozen(false, "volume:thaw_host"),
  failover_host: () => {
    throw badRequest("Invalid volume: the back end has no replication targets.");
  },
  "get-log": ({ context }, body) => {
    const { host } = context.services.options;
    return { body: { log_levels: [{ host, binary: String(body.binary ?? "cinder-api"), levels: {} }] } };
  },
  "set-log": () => ({ status: 202 }),
};

export const SERVICE_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>({
  "GET /os-services": listServices,
  "PUT /os-services/:action": (call) => {
    call.context.authorize(UPDATE);
    const name = call.param("action");
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) {
      throw invalidInput("Unknown action");
    }
    return action(call, call.json());
  },
  "GET /os-hosts": ({ context }) => {
    context.authorize("volume_extension:hosts");
    const hosts = context
      .table(SERVICES)
      .list()
      .map((service) => ({
        host_name: service.host,
        service: service.binary,
        zone: service.availability_zone,
        "service-status": isUp(context, service) ? "available" : "unavailable",
        "service-state": service.disabled ? "disabled" : "enabled",
        "last-update": isoMicroseconds(context.now),
      }));
    return { body: { hosts } };
  },
  "GET /os-hosts/:id": ({ context, params }) => {
    context.authorize("volume_extension:hosts");
    const { host } = serviceOf(context, { binary: "cinder-volume", host: params.id ?? "" });
    return { body: { host: hostUsage(context, host) } };
  },
});

/** Sums what volumes and snapshots of a host take, in total and by project. */
function hostUsage({ sql }: BlockStorageContext, host: string) {
  const rows = sql.all(
    `SELECT project_id, sum(is_volume), sum(is_volume * size), sum(1 - is_volume), sum((1 - is_volume) * size) FROM (
      SELECT project_id, 1 AS is_volume, size, host FROM block_storage_volumes
      UNION ALL SELECT s.project_id, 0, s.size, v.host FROM block_storage_snapshots s
        JOIN block_storage_volumes v ON v.id = s.volume_id)
      WHERE host LIKE ? || '#%' GROUP BY project_id ORDER BY project_id`,
    host,
  );
  const counts = rows.map(([project, ...numbers]) => ({ project: String(project), numbers: numbers.map(Number) }));
  const total = [0, 1, 2, 3].map((index) => counts.reduce((sum, { numbers }) => sum + (numbers[index] ?? 0), 0));
  return [{ project: "(total)", numbers: total }, ...counts].map(({ project, numbers }) => ({
    resource: {
      host,
      project,
      volume_count: String(numbers[0]),
      total_volume_gb: String(numbers[1]),
      snapshot_count: String(numbers[2]),
      total_snapshot_gb: String(numbers[3]),
    },
  }));
}
