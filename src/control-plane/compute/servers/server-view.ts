import {
  type BlockDevice,
  hasDevices,
  type Instance,
  isRootDevice,
  type Service,
  sizesForApi,
} from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { isoMicroseconds, isoSeconds } from "../../http/times.js";
import type { ServerPort } from "../../network/server-ports.js";
import { isUp } from "../api/agents.js";
import type { Call } from "../api/call.js";
import type { FoundServer } from "./find-server.js";
import { addressesOf } from "./network/addresses.js";
import { toUserAttributes } from "./server-schemas.js";
import { serverStatus } from "./server-status.js";

const WITH_PROGRESS = ["ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "MIGRATING"];

const COMPUTE = "nova-compute";

const WITH_FAULT = ["ERROR", "DELETED"];

export type RenderedServer = { readonly [key: string]: Json };

/** Renders the servers of one response. */
export class ServerView {
  readonly #call: Call;
  readonly #services = new Map<string, Service | null>();
  readonly #ports = new Map<string, readonly ServerPort[]>();
  readonly #devices = new Map<string, readonly BlockDevice[]>();
  readonly #pinnedZones = new Map<string, string | null>();
  /** Names of security groups by uuid. */
  readonly #groupNames = new Map<string, string>();

  constructor(call: Call) {
    this.#call = call;
  }

  /** Reads the related records of many servers with a few queries, before their details are rendered. */
  lookUp(servers: readonly FoundServer[]): void {
    const { services, requests } = this.#call.store;
    const uuids = servers.map(({ instance }) => instance.uuid);
    const zones = requests.pinnedZones(uuids);
    for (const uuid of uuids) {
      this.#ports.set(uuid, []);
      this.#pinnedZones.set(uuid, zones.get(uuid) ?? null);
    }
    const found = this.#call.deps.network.ports.ofServers(uuids);
    for (const [uuid, ports] of found) {
      this.#ports.set(uuid, ports);
    }
    const withDevices = servers.flatMap(({ instance }) => (hasDevices(instance) ? [instance.uuid] : []));
    for (const [uuid, devices] of this.#call.store.blockDevices.ofInstances(withDevices)) {
      this.#devices.set(uuid, devices);
    }
    this.#lookUpGroups([...found.values()].flat());
    const hosts = new Set(servers.flatMap(({ instance }) => instance.host ?? []));
    const records = new Map(services.byHosts([...hosts], COMPUTE).map((service) => [service.host, service]));
    for (const host of hosts) {
      this.#services.set(host, records.get(host) ?? null);
    }
  }

  brief({ uuid, displayName }: Pick<Instance, "uuid" | "displayName">): RenderedServer {
    return { id: uuid, name: displayName, links: this.#call.links.pair(`servers/${uuid}`) };
  }

  /** @param groups includes `server_groups`, which lists omit */
  detail({ instance, building }: FoundServer, { groups = true }: { readonly groups?: boolean } = {}): RenderedServer {
    const { version, links } = this.#call;
    const status = serverStatus(instance);
    const ports = building ? [] : this.#portsOf(instance.uuid);
    const devices = building ? [] : this.#devicesOf(instance);
    return {
      id: instance.uuid,
      name: instance.displayName,
      status,
      tenant_id: instance.projectId,
      user_id: instance.userId,
      metadata: instance.metadata,
      hostId: instance.host === null ? "" : this.#call.deps.digests.sha224(instance.projectId + instance.host),
      image: this.#image(instance),
      flavor: this.#flavor(instance),
      created: isoSeconds(instance.createdAt),
      updated: isoSeconds(instance.updatedAt ?? instance.createdAt),
      addresses: addressesOf(ports, { extended: true }),
      ...this.#securityGroups(ports),
      ...toUserAttributes(instance),
      links: links.pair(`servers/${instance.uuid}`),
      ...(WITH_FAULT.includes(status) && !building ? this.#fault(instance.uuid) : {}),
      ...(WITH_PROGRESS.includes(status) ? { progress: instance.progress } : {}),
      "OS-EXT-AZ:availability_zone": this.#zone(instance),
      config_drive: instance.configDrive ? "True" : "",
      key_name: instance.keyName,
      "OS-SRV-USG:launched_at": timeOrNull(instance.launchedAt),
      "OS-SRV-USG:terminated_at": timeOrNull(instance.terminatedAt),
      ...this.#extendedAttributes(instance, building, devices),
      "OS-EXT-STS:task_state": instance.taskState,
      "OS-EXT-STS:vm_state": instance.vmState,
      "OS-EXT-STS:power_state": instance.powerState,
      "os-extended-volumes:volumes_attached": devices.flatMap((device) => this.#attachedVolume(device)),
      ...(version >= 16 && this.#call.isAdmin ? { host_status: this.#hostStatus(instance) } : {}),
      ...(version >= 9 ? { locked: instance.locked } : {}),
      ...(version >= 73 ? { locked_reason: instance.lockedReason } : {}),
      ...(version >= 19 ? { description: instance.displayDescription } : {}),
      ...(version >= 26 ? { tags: instance.tags } : {}),
      ...(version >= 63 ? { trusted_image_certificates: null } : {}),
      ...(version >= 71 && groups ? { server_groups: this.#groups(instance) } : {}),
      ...(version >= 96 ? { pinned_availability_zone: this.#pinnedZone(instance.uuid) } : {}),
    };
  }

  #securityGroups(ports: readonly ServerPort[]): RenderedServer {
    const groups = [...new Set(ports.flatMap(({ securityGroupIds }) => securityGroupIds))];
    if (groups.some((id) => !this.#groupNames.has(id))) {
      this.#lookUpGroups(ports);
    }
    const groupViews = groups.map((id) => ({ name: this.#groupNames.get(id) || id }));
    return groupViews.length === 0 ? {} : { security_groups: groupViews };
  }

  #lookUpGroups(ports: readonly ServerPort[]): void {
    const ids = new Set(ports.flatMap(({ securityGroupIds }) => securityGroupIds));
    for (const [id, name] of this.#call.deps.network.securityGroups.names([...ids])) {
      this.#groupNames.set(id, name);
    }
  }

  #image({ imageRef }: Instance): Json {
    return imageRef === "" ? "" : { id: imageRef, links: this.#call.links.bookmarkOnly(`images/${imageRef}`) };
  }

  #flavor({ flavor }: Instance): Json {
    if (this.#call.version < 47) {
      return { id: flavor.flavorid, links: this.#call.links.bookmarkOnly(`flavors/${flavor.flavorid}`) };
    }
    return {
      ...sizesForApi(flavor),
      original_name: flavor.name,
      extra_specs: flavor.extraSpecs,
    };
  }

  #fault(uuid: string): RenderedServer {
    const fault = this.#call.store.instances.fault(uuid);
    if (!fault) {
      return {};
    }
    const { code, message, createdAt, details } = fault;
    const hasVisibleDetails = details !== null && details !== "" && (this.#call.isAdmin || code !== 500);
    return { fault: { code, created: isoSeconds(createdAt), message, ...(hasVisibleDetails ? { details } : {}) } };
  }

  #extendedAttributes(instance: Instance, building: boolean, devices: readonly BlockDevice[]): RenderedServer {
    const { version, isAdmin } = this.#call;
    const hostname = { "OS-EXT-SRV-ATTR:hostname": instance.hostname };
    if (!isAdmin) {
      return version >= 90 ? hostname : {};
    }
    return {
      "OS-EXT-SRV-ATTR:host": instance.host,
      "OS-EXT-SRV-ATTR:instance_name": building ? "" : `instance-${instance.id.toString(16).padStart(8, "0")}`,
      "OS-EXT-SRV-ATTR:hypervisor_hostname": instance.node,
      ...(version >= 3
        ? {
            "OS-EXT-SRV-ATTR:reservation_id": instance.reservationId,
            "OS-EXT-SRV-ATTR:launch_index": instance.launchIndex,
            ...hostname,
            "OS-EXT-SRV-ATTR:kernel_id": "",
            "OS-EXT-SRV-ATTR:ramdisk_id": "",
            "OS-EXT-SRV-ATTR:root_device_name": instance.launchedAt === null ? null : rootName(devices),
            "OS-EXT-SRV-ATTR:user_data": instance.userData,
          }
        : {}),
    };
  }

  #groups({ uuid }: Instance): Json {
    const group = this.#call.store.serverGroups.ofInstance(uuid);
    return group === null ? [] : [group.uuid];
  }

  #zone(instance: Instance): string {
    if (instance.host === null) {
      return instance.availabilityZone ?? "";
    }
    return this.#service(instance.host)?.availabilityZone ?? instance.availabilityZone ?? "";
  }

  #hostStatus({ host, deletedAt }: Instance): string {
    const service = host === null || deletedAt !== null ? null : this.#service(host);
    if (!service) {
      return "";
    }
    if (service.forcedDown) {
      return "DOWN";
    }
    if (service.disabled) {
      return "MAINTENANCE";
    }
    return isUp(this.#call.deps, service) ? "UP" : "UNKNOWN";
  }

  #portsOf(uuid: string): readonly ServerPort[] {
    return this.#ports.get(uuid) ?? this.#call.deps.network.ports.ofServer(uuid);
  }

  #devicesOf({ uuid, systemMetadata }: Instance): readonly BlockDevice[] {
    return hasDevices({ systemMetadata })
      ? (this.#devices.get(uuid) ?? this.#call.store.blockDevices.ofInstance(uuid))
      : [];
  }

  #attachedVolume({ volumeId, deleteOnTermination }: BlockDevice): readonly RenderedServer[] {
    if (volumeId === null) {
      return [];
    }
    return [{ id: volumeId, ...(this.#call.version >= 3 && { delete_on_termination: deleteOnTermination }) }];
  }

  #pinnedZone(uuid: string): string | null {
    const known = this.#pinnedZones.get(uuid);
    return known === undefined ? this.#call.store.requests.pinnedZone(uuid) : known;
  }

  #service(host: string): Service | null {
    const known = this.#services.get(host);
    if (known !== undefined) {
      return known;
    }
    const service = this.#call.store.services.getByHost(host, COMPUTE);
    this.#services.set(host, service);
    return service;
  }
}

function rootName(devices: readonly BlockDevice[]): string {
  return devices.find(isRootDevice)?.deviceName ?? "/dev/sda";
}

function timeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : isoMicroseconds(milliseconds);
}

type ServerObject = { readonly [key: string]: Json };

/** Properties that extensions added to the responses of GET only. */
const OF_EXTENSIONS =
  /^(OS-EXT-|OS-SRV-USG:|os-extended-volumes:|config_drive$|key_name$|host_status$|security_groups$)/;

/** Converts a server to the response of PUT and rebuild before 2.75. Since then it equals that of GET. */
export function toViewBefore75(server: ServerObject): ServerObject {
  return withoutExtensions(server);
}

/** Removes extension properties, also from addresses. */
function withoutExtensions(value: ServerObject): ServerObject {
  const left = Object.entries(value).filter(([key]) => !OF_EXTENSIONS.test(key));
  return Object.fromEntries(left.map(([key, one]) => [key, key === "addresses" ? plainAddresses(one) : one]));
}

function plainAddresses(addresses: Json | undefined): Json {
  const networks = Object.entries((addresses ?? {}) as Readonly<Record<string, readonly ServerObject[]>>);
  return Object.fromEntries(networks.map(([name, list]) => [name, list.map(withoutExtensions)]));
}
