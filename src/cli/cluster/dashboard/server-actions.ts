import { openCloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { RunnableAction } from "../../../dashboard/actions/action.js";
import type { ActionBody, ActionField } from "../../../dashboard/wire/actions.js";
import type { HttpMethod } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Has all that is asked for here, and evacuates servers as they are; from 2.95 on they are stopped. */
const VERSION = "2.90";

/** Asks the Compute API. @throws {CloudRequestFailed} */
export type AskCompute = (method: HttpMethod, path: string, body?: unknown) => Promise<unknown>;

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
  /** The body of the API's action. */
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

/** What users and operators ask of the Compute API about servers. */
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

/** Asks with the credentials of `clouds.yaml`. */
export function askCompute({ runtime, directory }: Place): AskCompute {
  return async (method, path, body) => {
    const session = await openCloudSession(runtime.files, runtime.http, directory);
    return session.request("compute", method, path, VERSION, body);
  };
}

/** @throws {Error} there is none of this name or id */
export async function imageId(name: string, { runtime, directory }: Place): Promise<string> {
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const { images } = (await session.request("image", "GET", `/v2/images?name=${encodeURIComponent(name)}`, "2.17")) as {
    readonly images: readonly { readonly id: string }[];
  };
  return images[0]?.id ?? name;
}
