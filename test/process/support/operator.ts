import { type Cloud, eventually, type Json } from "./cloud.js";

/** `[api] max_limit` */
const PAGE = 1000;

/** Performs an operator's actions through the public APIs. */
export class Operator {
  readonly #cloud: Cloud;

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  async boot(name: string, options: { host?: string; flavor?: string } = {}): Promise<string> {
    const response = await this.#cloud.compute("POST", "/servers", {
      server: {
        name,
        flavorRef: options.flavor ?? "1",
        imageRef: await this.image(),
        networks: "none",
        ...(options.host === undefined ? {} : { host: options.host }),
      },
    });
    if (response.status !== 202) {
      throw new Error(`boot: ${response.status} ${JSON.stringify(response.body)}`);
    }
    return String(response.body.server?.id);
  }

  async image(): Promise<string> {
    const response = await this.#cloud.image("GET", "/v2/images");
    return String(response.body.images?.[0]?.id);
  }

  async server(id: string): Promise<Json> {
    const response = await this.#cloud.compute("GET", `/servers/${id}`);
    return response.body.server ?? {};
  }

  /** Waits until the server has this status. @throws its fault, if it becomes ERROR instead */
  async serverIn(id: string, status: string): Promise<Json> {
    const server = await eventually(
      () => this.server(id),
      (found) => found.status === (status as unknown) || found.status === ("ERROR" as unknown),
    );
    if (String(server.status) !== status) {
      throw new Error(`${id} is ${server.status}: ${JSON.stringify(server.fault)}`);
    }
    return server;
  }

  /** Returns all servers; a page has at most a thousand. */
  async #servers(): Promise<readonly Json[]> {
    const found: Json[] = [];
    for (let marker = ""; ; marker = `&marker=${found.at(-1)?.id}`) {
      const { body } = await this.#cloud.compute("GET", `/servers/detail?all_tenants=1${marker}`);
      const page = Object.values(body.servers ?? {});
      found.push(...page);
      if (page.length < PAGE) {
        return found;
      }
    }
  }

  /** Waits until each of many servers has this status, with one request per poll. */
  async serversIn(ids: readonly string[], status: string): Promise<void> {
    const waited = new Set(ids);
    const found = await eventually(
      async () => (await this.#servers()).filter((server) => waited.has(String(server.id))),
      (servers) =>
        servers.some((server) => String(server.status) === "ERROR") ||
        servers.filter((server) => String(server.status) === status).length === waited.size,
    );
    const broken = found.find((server) => String(server.status) === "ERROR");
    if (broken) {
      throw new Error(`${broken.id} is ${broken.status}: ${JSON.stringify(broken.fault)}`);
    }
  }

  async service(host: string): Promise<Json> {
    const response = await this.#cloud.compute("GET", `/os-services?host=${host}&binary=nova-compute`);
    return response.body.services?.[0] ?? {};
  }

  async forceDown(host: string, forcedDown: boolean): Promise<number> {
    const service = await this.service(host);
    const response = await this.#cloud.compute("PUT", `/os-services/${service.id}`, { forced_down: forcedDown });
    return response.status;
  }

  async deleteService(host: string): Promise<number> {
    const service = await this.service(host);
    return (await this.#cloud.compute("DELETE", `/os-services/${service.id}`)).status;
  }

  /** Uses 2.94: since 2.95 the server is left stopped. */
  async evacuate(id: string, host: string): Promise<void> {
    const response = await this.#cloud.compute("POST", `/servers/${id}/action`, { evacuate: { host } }, "2.94");
    if (response.status !== 200) {
      throw new Error(`evacuate: ${response.status} ${JSON.stringify(response.body)}`);
    }
  }

  /** Returns the uuid and generation of a host's provider. */
  async provider(host: string): Promise<{ readonly uuid: string; readonly generation: number }> {
    const response = await this.#cloud.placement("GET", `/resource_providers?name=${host}`);
    const provider = response.body.resource_providers?.[0];
    return { uuid: String(provider?.uuid), generation: Number(provider?.generation) };
  }

  /** Returns the consumer's allocations: provider name → amounts. */
  async held(consumer: string, hosts: readonly string[]): Promise<Record<string, unknown>> {
    const names = new Map(
      await Promise.all(hosts.map(async (host) => [(await this.provider(host)).uuid, host] as const)),
    );
    const response = await this.#cloud.placement("GET", `/allocations/${consumer}`);
    return Object.fromEntries(
      Object.entries(response.body.allocations ?? {}).map(([uuid, held]) => [names.get(uuid) ?? uuid, held.resources]),
    );
  }

  async migrations(instance: string): Promise<Json[]> {
    const response = await this.#cloud.compute("GET", `/os-migrations?instance_uuid=${instance}`);
    return Object.values(response.body.migrations ?? {});
  }
}
