import { openCloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { RunnableAction } from "../../../dashboard/actions.js";
import type {
  ActionBody,
  ActionChoices,
  ActionField,
  ActionRequirements,
  DashboardAction,
} from "../../../dashboard/wire/messages.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { HttpMethod } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Supports every action here, and evacuates servers in their power state; since 2.95 evacuated servers are stopped. */
const VERSION = "2.90";

/** Sends a request to the Compute API. @throws {CloudRequestFailed} */
type AskCompute = (method: HttpMethod, path: string, body?: unknown) => Promise<unknown>;

export const HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };

const SERVER: ActionField = { name: "server", label: "Server", type: "server", required: true };

const DEST: ActionField = { name: "dest", label: "Destination host", type: "host", required: false };

const FLAVOR: ActionField = { name: "flavor", label: "Flavor", type: "flavor", required: true };

interface ServerAction {
  readonly name: string;
  readonly label: string;
  readonly summary: string;
  readonly requires: ActionRequirements;
  readonly fields?: readonly ActionField[];
  readonly destructive?: true;
  readonly command: string;
  /** Returns the body of the API's action. */
  readonly body: (input: ActionBody) => unknown;
}

const ACTIONS: readonly ServerAction[] = [
  {
    name: "evacuate",
    label: "Evacuate",
    summary: "Rebuilds the server on another host. Its current host must be down or fenced.",
    requires: { vmStates: ["active", "stopped", "error"], service: "down" },
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server evacuate [--host {dest}] {server}`,
    body: ({ dest }) => ({ evacuate: dest ? { host: dest } : {} }),
  },
  {
    name: "live-migrate",
    label: "Live migrate",
    summary: "Moves the running server to another host.",
    requires: { vmStates: ["active", "paused"], idle: true, service: "up" },
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server migrate --live-migration [--host {dest}] {server}`,
    body: ({ dest }) => ({ "os-migrateLive": { host: dest || null, block_migration: "auto" } }),
  },
  {
    name: "cold-migrate",
    label: "Cold migrate",
    summary: "Shuts the server off and moves it to another host. The move waits until it is confirmed or reverted.",
    requires: { vmStates: ["active", "stopped"], idle: true, service: "up" },
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server migrate [--host {dest}] {server}`,
    body: ({ dest }) => ({ migrate: dest ? { host: dest } : null }),
  },
  {
    name: "resize",
    label: "Resize",
    summary:
      "Gives the server another flavor, usually on another host. The resize waits until it is confirmed or reverted.",
    requires: { vmStates: ["active", "stopped"], idle: true, service: "up" },
    fields: [FLAVOR],
    command: "openstack server resize --flavor {flavor} {server}",
    body: ({ flavor }) => ({ resize: { flavorRef: flavor } }),
  },
  {
    name: "resize-confirm",
    label: "Confirm resize",
    summary: "Confirms a resize or a cold migration. The source removes its guest and its allocations.",
    requires: { vmStates: ["resized"], idle: true },
    command: "openstack server resize confirm {server}",
    body: () => ({ confirmResize: null }),
  },
  {
    name: "resize-revert",
    label: "Revert resize",
    summary: "Reverts a resize or a cold migration. The server returns to its source.",
    requires: { vmStates: ["resized"], idle: true },
    command: "openstack server resize revert {server}",
    body: () => ({ revertResize: null }),
  },
  {
    name: "server-stop",
    label: "Stop",
    summary: "Shuts the server off.",
    requires: { vmStates: ["active", "error"], idle: true },
    command: "openstack server stop {server}",
    body: () => ({ "os-stop": null }),
  },
  {
    name: "server-start",
    label: "Start",
    summary: "Starts a server that is shut off.",
    requires: { vmStates: ["stopped"], idle: true },
    command: "openstack server start {server}",
    body: () => ({ "os-start": null }),
  },
];

export function createServerActions(
  ask: AskCompute,
  imageIdOf: (name: string) => Promise<string>,
): readonly RunnableAction[] {
  const actions = ACTIONS.map(({ fields = [], destructive = false, command, body, ...about }): RunnableAction => {
    const commands = [command];
    return {
      action: { ...about, subject: "server", destructive, fields: [SERVER, ...fields], commands },
      run: async (input) => {
        await ask("POST", `/servers/${encodeURIComponent(String(input.server))}/action`, body(input));
        return {};
      },
    };
  });
  return [createBootAction(ask, imageIdOf), ...actions, createDeleteAction(ask)];
}

function createBootAction(ask: AskCompute, imageIdOf: (name: string) => Promise<string>): RunnableAction {
  return {
    action: {
      name: "create",
      label: "Create server",
      summary: "Creates a server on the given host, or on one that the scheduler selects.",
      subject: "cluster",
      destructive: false,
      fields: [
        { name: "name", label: "Name", type: "text", required: true },
        FLAVOR,
        { name: "image", label: "Image", type: "image", required: true },
        { name: "network", label: "Network", type: "network", required: false },
        { name: "zone", label: "Availability zone", type: "zone", required: false },
        { name: "dest", label: "Host", type: "host", required: false },
      ],
      commands: [
        `openstack --os-compute-api-version ${VERSION} server create --flavor {flavor} --image {image} ` +
          "[--network {network}] [--availability-zone {zone}] [--host {dest}] {name}",
      ],
    },
    run: async ({ name, flavor, image, network, zone, dest }) => {
      const imageRef = await imageIdOf(String(image));
      const server = {
        name,
        flavorRef: flavor,
        imageRef,
        networks: networksOf(network),
        ...(zone ? { availability_zone: zone } : {}),
        ...(dest ? { host: dest } : {}),
      };
      const made = (await ask("POST", "/servers", { server })) as { readonly server: { readonly id: string } };
      return { made: made.server.id };
    },
  };
}

/** @param network a uuid, or `auto` or `none`, which the command and the API both know */
function networksOf(network: ActionBody[string] | undefined): unknown {
  return network && network !== "auto" && network !== "none" ? [{ uuid: network }] : network || "auto";
}

function createDeleteAction(ask: AskCompute): RunnableAction {
  return {
    action: {
      name: "delete",
      label: "Delete",
      summary: "Deletes the server with its guest and its allocations.",
      subject: "server",
      destructive: true,
      fields: [SERVER],
      commands: ["openstack server delete {server}"],
    },
    run: async ({ server }) => {
      await ask("DELETE", `/servers/${encodeURIComponent(String(server))}`);
      return {};
    },
  };
}

interface Place {
  readonly runtime: Pick<Runtime, "files" | "http">;
  readonly directory: StateDir;
}

/** Creates a client with the credentials of `clouds.yaml`. */
export function askCompute({ runtime, directory }: Place): AskCompute {
  return async (method, path, body) => {
    const session = await openCloudSession(runtime.files, runtime.http, directory);
    return session.request("compute", method, path, VERSION, body);
  };
}

/** The number of images and networks that are offered. */
const MAX_CHOICES = 500;

/** Reads the images, networks and zones that the fields of actions offer. @throws {CloudRequestFailed} */
export async function readActionChoices({ runtime, directory }: Place): Promise<ActionChoices> {
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const [{ images }, { networks }, { availabilityZoneInfo: zones }] = (await Promise.all([
    session.request("image", "GET", `/v2/images?status=active&sort=name:asc&limit=${MAX_CHOICES}`, "2.17"),
    session.request("network", "GET", `/v2.0/networks?fields=id&fields=name&limit=${MAX_CHOICES}`, "2.0"),
    session.request("compute", "GET", "/os-availability-zone", VERSION),
  ])) as [
    { readonly images: readonly NamedObject[] },
    { readonly networks: readonly NamedObject[] },
    { readonly availabilityZoneInfo: readonly { readonly zoneName: string }[] },
  ];
  const named = (objects: readonly NamedObject[]) => objects.map(({ id, name }) => ({ id, name: name || id }));
  return { images: named(images), networks: named(networks), zones: zones.map(({ zoneName }) => zoneName) };
}

interface NamedObject {
  readonly id: string;
  readonly name: string | null;
}

/** Returns the id of an image; the name itself if no image has that name. */
export async function imageId(name: string, { runtime, directory }: Place): Promise<string> {
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const { images } = (await session.request("image", "GET", `/v2/images?name=${encodeURIComponent(name)}`, "2.17")) as {
    readonly images: readonly { readonly id: string }[];
  };
  return images[0]?.id ?? name;
}

interface ServiceChange extends Pick<DashboardAction, "name" | "label" | "summary" | "requires"> {
  /** The option of `openstack compute service set`. */
  readonly flag: string;
  readonly change: Readonly<Record<string, string | boolean>>;
  readonly destructive?: true;
}

const SERVICE_CHANGES: readonly ServiceChange[] = [
  {
    name: "fence",
    label: "Fence",
    summary: "Marks the host as down, whatever its agent reports. Its servers can then be evacuated.",
    flag: "down",
    change: { forced_down: true },
    destructive: true,
    requires: { registered: true, forcedDown: false },
  },
  {
    name: "unfence",
    label: "Unfence",
    summary: "Removes the mark, so that the heartbeats of the agent count again.",
    flag: "up",
    change: { forced_down: false },
    requires: { registered: true, forcedDown: true },
  },
  {
    name: "host-disable",
    label: "Disable",
    summary: "Schedules no further servers to the host.",
    flag: "disable",
    change: { status: "disabled" },
    requires: { registered: true, enabled: true },
  },
  {
    name: "host-enable",
    label: "Enable",
    summary: "Schedules servers to the host again.",
    flag: "enable",
    change: { status: "enabled" },
    requires: { registered: true, enabled: false },
  },
];

export function createServiceActions(ask: AskCompute): readonly RunnableAction[] {
  const setService = async (host: unknown, changes: unknown): Promise<void> => {
    const query = `host=${encodeURIComponent(String(host))}&binary=nova-compute`;
    const { services } = (await ask("GET", `/os-services?${query}`)) as {
      readonly services: { readonly id: string }[];
    };
    const [service] = services;
    if (service === undefined) {
      throw new Error(`host ${host} has no service nova-compute`);
    }
    await ask("PUT", `/os-services/${service.id}`, changes);
  };
  const changes = SERVICE_CHANGES.map(({ flag, change, destructive = false, ...about }): RunnableAction => {
    const commands = [`openstack compute service set --${flag} {host} nova-compute`];
    return {
      action: { subject: "host", destructive, fields: [HOST], commands, ...about },
      run: async ({ host }) => {
        await setService(host, change);
        return {};
      },
    };
  });
  return [
    ...changes,
    {
      action: {
        name: "host-evacuate",
        label: "Fence and evacuate",
        summary: "Marks the host as down, and rebuilds all of its servers on other hosts.",
        subject: "host",
        destructive: true,
        requires: { registered: true, servers: true },
        fields: [HOST, DEST],
        commands: [
          "openstack compute service set --down {host} nova-compute",
          "openstack server list --all-projects --host {host} -f value -c ID | " +
            "xargs -n 1 openstack --os-compute-api-version 2.90 server evacuate [--host {dest}]",
        ],
      },
      run: async ({ host, dest }) => {
        await setService(host, { forced_down: true });
        return { lines: await evacuateAll(ask, String(host), dest ? { host: dest } : {}) };
      },
    },
  ];
}

/** @returns the result for each server, as lines */
async function evacuateAll(ask: AskCompute, host: string, evacuate: unknown): Promise<readonly string[]> {
  const { servers } = (await ask("GET", `/servers?all_tenants=True&host=${encodeURIComponent(host)}`)) as {
    readonly servers: readonly { readonly id: string; readonly name: string }[];
  };
  const lines: string[] = [];
  for (const { id, name } of servers) {
    const failed = await ask("POST", `/servers/${id}/action`, { evacuate }).then(() => undefined, errorMessage);
    lines.push(`${name} (${id}): ${failed ?? "is being evacuated"}`);
  }
  return servers.length === 0 ? [`${host} has no servers`] : lines;
}
