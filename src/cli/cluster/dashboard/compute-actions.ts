import { openCloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { RunnableAction } from "../../../dashboard/actions.js";
import type { ActionBody, ActionField } from "../../../dashboard/wire/messages.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { HttpMethod } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Supports every action here, and evacuates servers in their power state; since 2.95 evacuated servers are stopped. */
const VERSION = "2.90";

/** Sends a request to the Compute API. @throws {CloudRequestFailed} */
type AskCompute = (method: HttpMethod, path: string, body?: unknown) => Promise<unknown>;

export const HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };

const SERVER: ActionField = { name: "server", label: "Server", type: "server", required: true };

const DEST: ActionField = { name: "dest", label: "To host", type: "host", required: false };

const FLAVOR: ActionField = { name: "flavor", label: "Flavor", type: "flavor", required: true };

interface ServerAction {
  readonly name: string;
  readonly label: string;
  readonly summary: string;
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
    summary: "Builds the server anew on another host; its own must be down, or fenced",
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server evacuate [--host {dest}] {server}`,
    body: ({ dest }) => ({ evacuate: dest ? { host: dest } : {} }),
  },
  {
    name: "live-migrate",
    label: "Migrate live",
    summary: "Moves the running server to another host",
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server migrate --live-migration [--host {dest}] {server}`,
    body: ({ dest }) => ({ "os-migrateLive": { host: dest || null, block_migration: "auto" } }),
  },
  {
    name: "cold-migrate",
    label: "Migrate cold",
    summary: "Moves the server while it is off; the move waits to be confirmed or reverted",
    fields: [DEST],
    command: `openstack --os-compute-api-version ${VERSION} server migrate [--host {dest}] {server}`,
    body: ({ dest }) => ({ migrate: dest ? { host: dest } : null }),
  },
  {
    name: "resize",
    label: "Resize",
    summary: "Gives the server another flavor; the move waits to be confirmed or reverted",
    fields: [FLAVOR],
    command: "openstack server resize --flavor {flavor} {server}",
    body: ({ flavor }) => ({ resize: { flavorRef: flavor } }),
  },
  {
    name: "resize-confirm",
    label: "Confirm",
    summary: "Confirms a resize or a cold migration: its source forgets the server",
    command: "openstack server resize confirm {server}",
    body: () => ({ confirmResize: null }),
  },
  {
    name: "resize-revert",
    label: "Revert",
    summary: "Takes a resize or a cold migration back to its source",
    command: "openstack server resize revert {server}",
    body: () => ({ revertResize: null }),
  },
  {
    name: "server-stop",
    label: "Stop",
    summary: "Shuts the server off",
    command: "openstack server stop {server}",
    body: () => ({ "os-stop": null }),
  },
  {
    name: "server-start",
    label: "Start",
    summary: "Starts a server that is shut off",
    command: "openstack server start {server}",
    body: () => ({ "os-start": null }),
  },
];

/** Creates the Compute API actions for servers. */
export function createServerActions(
  ask: AskCompute,
  imageIdOf: (name: string) => Promise<string>,
): readonly RunnableAction[] {
  const actions = ACTIONS.map(({ name, label, summary, fields = [], destructive, command, body }): RunnableAction => {
    const commands = [command];
    const all = [SERVER, ...fields];
    return {
      action: { name, label, summary, subject: "server", destructive: destructive === true, fields: all, commands },
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
      label: "Boot a server",
      summary: "Boots a server, on the host that is named or on one that the scheduler chooses",
      subject: "cluster",
      destructive: false,
      fields: [
        { name: "name", label: "Name", type: "text", required: true },
        FLAVOR,
        { name: "image", label: "Image, as cirros", type: "image", required: true },
        DEST,
      ],
      commands: [
        `openstack --os-compute-api-version ${VERSION} server create --flavor {flavor} --image {image} [--host {dest}] {name}`,
      ],
    },
    run: async ({ name, flavor, image, dest }) => {
      const imageRef = await imageIdOf(String(image));
      const server = { name, flavorRef: flavor, imageRef, networks: "auto", ...(dest ? { host: dest } : {}) };
      const made = (await ask("POST", "/servers", { server })) as { readonly server: { readonly id: string } };
      return { made: made.server.id };
    },
  };
}

function createDeleteAction(ask: AskCompute): RunnableAction {
  return {
    action: {
      name: "delete",
      label: "Delete",
      summary: "Deletes the server, and what it holds",
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

/** Returns the id of an image; the name itself if no image has that name. */
export async function imageId(name: string, { runtime, directory }: Place): Promise<string> {
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const { images } = (await session.request("image", "GET", `/v2/images?name=${encodeURIComponent(name)}`, "2.17")) as {
    readonly images: readonly { readonly id: string }[];
  };
  return images[0]?.id ?? name;
}

const SERVICE_CHANGES = [
  {
    name: "fence",
    label: "Fence",
    summary: "Says that the host is down, whatever its agent says",
    flag: "down",
    change: { forced_down: true },
    destructive: true,
  },
  {
    name: "unfence",
    label: "Unfence",
    summary: "Takes the fence away: its heartbeats count again",
    flag: "up",
    change: { forced_down: false },
  },
  {
    name: "host-disable",
    label: "Disable",
    summary: "Has no further servers scheduled to the host",
    flag: "disable",
    change: { status: "disabled" },
  },
  {
    name: "host-enable",
    label: "Enable",
    summary: "Has servers scheduled to the host again",
    flag: "enable",
    change: { status: "enabled" },
  },
];

/** Creates the Compute API actions for hosts. */
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
        summary: "Says that the host is down, and has all its servers built anew on other hosts",
        subject: "host",
        destructive: true,
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
