import {
  DEVICES_MARK,
  type Flavor,
  type Instance,
  isRootDevice,
  isVolume,
  isVolumeBacked,
  newInstance,
  type RequestSpec,
  type ServerGroup,
  withImageProperties,
} from "../../../records/index.js";
import type { Random } from "../../../runtime/cryptography.js";
import { EventLoopTicks } from "../../event-loop.js";
import { badRequest } from "../../http/http-error.js";
import { atOnce } from "../../http/request.js";
import { type Call, type ComputeResponse, denied, requireMember } from "../api/call.js";
import { isTrue } from "../api/schema-parts.js";
import { isOpenTo } from "../flavors/flavor-access.js";
import { assertFileQuota, assertMemberQuota, assertMetadataQuota, serversInQuota } from "../quotas/quota-checks.js";
import { bootDevices, storeDevices, validateDevices } from "./block-devices/boot-devices.js";
import { assertSourceFits, findBootSource, readRequestedDevices } from "./block-devices/boot-source.js";
import type { DeviceDraft } from "./block-devices/device-requests.js";
import { zoneWithVolumes } from "./block-devices/volume-zones.js";
import { assertSupported, chosenGroup, chosenKey, hostnameFor, selectSchedulerHints } from "./create-checks.js";
import { removeServer } from "./delete-server.js";
import { type Destination, readDestination } from "./destination.js";
import { validateRequestedSpecs } from "./image-flavor-checks.js";
import {
  networkMark,
  type RequestedNetworks,
  resolveNetworks,
  serversInPortQuota,
} from "./network/requested-networks.js";
import { attributeChanges, CREATE, type CreateBody, diskConfigWith, toUserAttributes } from "./server-schemas.js";

const POLICY = "os_compute_api:servers:create";

/** Servers stored per transaction. Other requests are handled between the transactions of a larger request. */
const BATCH_SIZE = 100;

/** Creates servers (spec 6.1 row 1). When the response is sent, all servers of the request are stored. */
export function createServer(call: Call): ComputeResponse | Promise<ComputeResponse> {
  const body = call.body(CREATE);
  requireMember(call, POLICY);
  const { server } = body;
  const { least, most } = readCounts(server);
  const requestedDestination = readDestination(call, server);
  assertSupported(body, most);
  const requested = readRequestedDevices(server);
  const flavor = readFlavor(call, server);
  const source = findBootSource(call, server.imageRef ?? "", requested);
  const drafts = bootDevices(requested, source, flavor, most);
  const root = drafts.find(isRootDevice);
  assertSourceFits(call, source, flavor, root);
  const imageProperties = source.properties;
  validateRequestedSpecs(flavor, imageProperties);
  const devices = validateDevices(call, drafts, { flavor, imageRef: source.imageRef });
  const destination = {
    ...requestedDestination,
    availabilityZone: zoneWithVolumes(call, requestedDestination.availabilityZone, devices),
  };
  // A server that boots from a volume has no image, even if the request names one that defines the volume.
  const imageRef = root && isVolume(root) ? "" : source.imageRef;
  const projectId = call.credentials.projectId;
  if (projectId === null) {
    throw denied(POLICY);
  }
  const key = chosenKey(call.deps, call.credentials.userId, server.key_name ?? null);
  const group = chosenGroup(call, body);
  const networks = resolveNetworks(call, { projectId, server, count: most });
  const reservationId = `r-${randomText(call.deps.random, 8, LOWER)}`;
  assertMetadataQuota(call, server.metadata);
  assertFileQuota(call, server.personality);
  const schedulerHints = selectSchedulerHints(body);
  const { draft, instances } = call.store.transaction(() => {
    const { userId } = call.credentials;
    const max = serversInPortQuota(call.deps, projectId, networks.ports, { min: least, max: most });
    const count = serversInQuota(call.deps, { projectId, userId }, flavor, least, max);
    if (group !== null) {
      assertMemberQuota(call, group, count);
    }
    const inputs = {
      server,
      flavor,
      imageRef,
      imageProperties,
      devices,
      destination,
      key,
      group,
      networks,
      schedulerHints,
    };
    const complete = { ...inputs, projectId, reservationId, count };
    return { draft: complete, instances: storeBatch(call, complete, 0) };
  });
  call.deps.wake();
  const stored = draft.count > BATCH_SIZE ? storeOthers(call, draft, instances) : undefined;
  return atOnce(stored, () => respond(call, server, instances));
}

/** Stores one batch of servers, beginning with index `from`. */
function storeBatch(call: Call, draft: Draft, from: number): readonly Instance[] {
  const size = Math.min(BATCH_SIZE, draft.count - from);
  const drafts = Array.from({ length: size }, (_, index) => draftInstance(call, draft, from + index));
  for (const instance of drafts) {
    storeRequest(call, instance, draft);
  }
  return drafts;
}

/**
 * Stores the servers after the first batch. If another request exhausts a quota in between, the servers of this request
 * are deleted again, as in Nova. If the control plane is killed, the servers stored so far are built; the client got no
 * response.
 * @throws {HttpError} 403
 */
async function storeOthers(call: Call, draft: Draft, first: readonly Instance[]): Promise<void> {
  const { store } = call;
  const { projectId, flavor, group, count } = draft;
  const { userId } = call.credentials;
  const ticks = new EventLoopTicks(call.deps);
  const stored = first.map(({ uuid }) => uuid);
  try {
    while (stored.length < count) {
      await ticks.give();
      const batch = store.transaction(() => {
        const size = Math.min(BATCH_SIZE, count - stored.length);
        serversInPortQuota(call.deps, projectId, draft.networks.ports, { min: size, max: size });
        serversInQuota(call.deps, { projectId, userId }, flavor, size, size);
        if (group !== null) {
          assertMemberQuota(call, group, size);
        }
        return storeBatch(call, draft, stored.length);
      });
      call.deps.wake();
      stored.push(...batch.map(({ uuid }) => uuid));
    }
  } catch (error) {
    store.transaction(() => {
      for (const uuid of stored) {
        removeUnwanted(call, uuid);
      }
    });
    call.deps.wake();
    throw error;
  }
}

/** Deletes a server that this request has stored, unless the user has already deleted it. */
function removeUnwanted(call: Call, uuid: string): void {
  const { requests, instances } = call.store;
  const building = requests.buildRequest(uuid);
  const instance = building?.instance ?? instances.get(uuid);
  if (instance) {
    removeServer(call, { instance, building: building !== null });
  }
}

interface Draft {
  readonly server: CreateBody["server"];
  readonly flavor: Flavor;
  readonly imageRef: string;
  readonly imageProperties: Readonly<Record<string, string>>;
  readonly devices: readonly DeviceDraft[];
  readonly projectId: string;
  readonly reservationId: string;
  readonly destination: Destination;
  readonly count: number;
  readonly key: ReturnType<typeof chosenKey>;
  readonly group: ServerGroup | null;
  readonly networks: RequestedNetworks;
  readonly schedulerHints: RequestSpec["schedulerHints"];
}

function storeRequest(call: Call, instance: Instance, draft: Draft): void {
  const { store } = call;
  const { uuid: instanceUuid, projectId } = instance;
  const { availabilityZone, ...requestedDestination } = draft.destination;
  store.mappings.mapInstance(instanceUuid, projectId, null);
  store.requests.createSpec({
    instanceUuid,
    projectId,
    userId: instance.userId,
    flavor: draft.flavor,
    imageRef: draft.imageRef,
    isBfv: isVolumeBacked(draft),
    availabilityZone,
    numInstances: draft.count,
    schedulerHints: draft.schedulerHints,
  });
  store.requests.createBuildRequest({ instanceUuid, projectId, instance });
  storeDevices(call, instanceUuid, draft.devices);
  if (draft.group !== null) {
    store.serverGroups.addMember(draft.group.id, instanceUuid, instance.userId);
  }
  const networks = draft.networks.ports.length === 0 ? {} : draft.networks;
  const ofRequest = { instanceUuid, requestId: call.requestId };
  store.tasks.add({ kind: "build_instances", ...ofRequest, ...requestedDestination, ...networks });
}

function draftInstance(call: Call, draft: Draft, index: number): Instance {
  const { server, count } = draft;
  const uuid = call.deps.random.uuid();
  const displayName = count > 1 ? `${server.name}-${index + 1}` : server.name;
  const attributes = {
    uuid,
    projectId: draft.projectId,
    userId: call.credentials.userId,
    displayName,
    displayDescription: call.version >= 19 ? (server.description ?? null) : displayName,
    hostname: server.hostname ?? hostnameFor(displayName, uuid),
    reservationId: draft.reservationId,
    launchIndex: index,
    imageRef: draft.imageRef,
    flavor: draft.flavor,
    availabilityZone: draft.destination.availabilityZone,
    metadata: server.metadata ?? {},
    tags: [...new Set(server.tags ?? [])].sort(),
    configDrive: isTrue(server.config_drive),
    userData: server.user_data ?? null,
    injectedFiles: server.personality ?? [],
    ...draft.key,
    ...attributeChanges(server),
    ...diskConfigWith(draft.imageProperties, server, draft.imageRef),
    systemMetadata: withImageProperties(
      { ...networkMark(draft.networks), ...(draft.devices.length > 0 && DEVICES_MARK) },
      draft.imageProperties,
    ),
  };
  return { ...newInstance(attributes), id: 0, createdAt: call.deps.clock.now() };
}

function respond(call: Call, server: CreateBody["server"], [first]: readonly Instance[]): ComputeResponse {
  if (!first) {
    throw badRequest("min_count must be > 0");
  }
  if (isTrue(server.return_reservation_id)) {
    return { status: 202, body: { reservation_id: first.reservationId } };
  }
  const path = `servers/${first.uuid}`;
  const groups = [...new Set(server.security_groups?.map(({ name }) => name ?? "default") ?? ["default"])];
  return {
    status: 202,
    headers: { location: call.links.self(path) },
    body: {
      server: {
        id: first.uuid,
        links: call.links.pair(path),
        "OS-DCF:diskConfig": toUserAttributes(first)["OS-DCF:diskConfig"],
        security_groups: groups.map((name) => ({ name })),
        adminPass: server.adminPass ?? generatePassword(call.deps.random),
      },
    },
  };
}

function readCounts({ min_count: min = 1, max_count: max = min }: CreateBody["server"]): Counts {
  if (Number(min) > Number(max)) {
    throw badRequest("min_count must be <= max_count");
  }
  return { least: Number(min), most: Number(max) };
}

/** The number of servers: at least `least`, at most `most`, as far as the quotas allow. */
interface Counts {
  readonly least: number;
  readonly most: number;
}

/** Accepts an id, or a link, whose last segment is the id. */
function readFlavor(call: Call, { flavorRef }: CreateBody["server"]): Flavor {
  const id = String(flavorRef).split("/").at(-1) ?? "";
  const flavor = call.store.flavors.getByFlavorid(id);
  if (!flavor || !(call.isAdmin || isOpenTo(call.deps, flavor, call.credentials.projectId))) {
    throw badRequest(`Flavor ${id} could not be found.`);
  }
  return flavor;
}

const LOWER = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Characters without those that are easily confused. */
const PASSWORD = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export const generatePassword = (random: Random): string => randomText(random, 12, PASSWORD);

function randomText(random: Random, length: number, alphabet: string): string {
  return Array.from({ length }, () => alphabet[random.integer(0, alphabet.length - 1)]).join("");
}
