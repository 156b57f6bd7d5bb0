import { quietLogger } from "../../../../src/cli/ui/logging.js";
import { type Cluster, type StartClusterOptions, startCluster } from "../../../../src/cluster/index.js";
import { openCloudSession } from "../../../../src/control-plane/local/cloud-session.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { NodeFiles } from "../../../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";

/** A user of the cluster, over the real network. */
export interface Client {
  /** Returns the id of a server that is building. */
  create(name: string, host?: string): Promise<string>;
  act(id: string, action: Readonly<Record<string, unknown>>): Promise<void>;
  status(id: string): Promise<string>;
  names(): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
  flavor(name: string): Promise<string>;
  /** Returns `up` or `down` by the host of each nova-compute. */
  services(): Promise<Readonly<Record<string, string>>>;
  /** Changes the compute service of a host, as `{forced_down: true}`. */
  changeService(host: string, change: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Runs `work` with a cluster and stops it afterwards. */
export async function withCluster(
  options: StartClusterOptions,
  work: (cloud: Cluster, client: Client) => Promise<void>,
): Promise<void> {
  const cloud = await startCluster(options);
  try {
    await withClient(cloud, (client) => work(cloud, client));
  } finally {
    await cloud.stop();
  }
}

/** Runs `work` with a client that logs in now. */
export async function withClient<T>(cloud: Cluster, work: (client: Client) => Promise<T>): Promise<T> {
  const { http } = createNodeRuntime({ logger: quietLogger });
  try {
    const session = await openCloudSession(new NodeFiles(), http, stateDir(cloud.stateDir, "/"));
    const flavor = async (name: string) => {
      const { flavors } = (await session.request("compute", "GET", "/flavors", "2.1")) as {
        readonly flavors: readonly { readonly id: string; readonly name: string }[];
      };
      return flavors.find((each) => each.name === name)?.id ?? "";
    };
    const servers = async () =>
      (
        (await session.request("compute", "GET", "/servers", "2.1")) as {
          readonly servers: readonly { readonly name: string }[];
        }
      ).servers;
    return await work({
      flavor,
      create: async (name, host) => {
        const { images } = (await session.request("image", "GET", "/v2/images", "2.0")) as {
          readonly images: readonly { readonly id: string }[];
        };
        const server = { name, flavorRef: await flavor("m1.tiny"), imageRef: images[0]?.id, networks: "none" };
        const body = { server: host === undefined ? server : { ...server, host } };
        const created = (await session.request("compute", "POST", "/servers", "2.74", body)) as {
          readonly server: { readonly id: string };
        };
        return created.server.id;
      },
      act: async (id, action) =>
        void (await session.request("compute", "POST", `/servers/${id}/action`, "2.1", action)),
      status: async (id) =>
        (
          (await session.request("compute", "GET", `/servers/${id}`, "2.1")) as {
            readonly server: { readonly status: string };
          }
        ).server.status,
      names: async () => (await servers()).map(({ name }) => name).toSorted(),
      services: async () => {
        const { services } = (await session.request("compute", "GET", "/os-services?binary=nova-compute", "2.1")) as {
          readonly services: readonly { readonly host: string; readonly state: string }[];
        };
        return Object.fromEntries(services.map(({ host, state }) => [host, state]));
      },
      changeService: async (host, change) => {
        const { services } = (await session.request("compute", "GET", `/os-services?host=${host}`, "2.53")) as {
          readonly services: readonly { readonly id: string }[];
        };
        await session.request("compute", "PUT", `/os-services/${services[0]?.id}`, "2.53", change);
      },
      remove: async (id) => void (await session.request("compute", "DELETE", `/servers/${id}`, "2.1")),
    });
  } finally {
    await http.close();
  }
}
