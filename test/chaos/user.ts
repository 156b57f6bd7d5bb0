import type { Client, Json } from "./client.js";
import type { Dice } from "./dice.js";
import type { Journal } from "./journal.js";
import { changeNetworks, drawNetworks, type NetworkUser } from "./network-operations.js";
import { OPERATIONS, type Operation } from "./operations.js";

export interface UserParts {
  readonly client: Client;
  readonly dice: Dice;
  readonly journal: Journal;
  readonly hosts: readonly string[];
  readonly admin: boolean;
}

/** Max servers of a user; beyond it, none are created. */
const ENOUGH = 9;

/** A user with servers, who performs one operation after another. */
export class User {
  readonly #parts: UserParts;
  readonly #networkUser: NetworkUser;
  #created = 0;

  constructor(parts: UserParts) {
    const { client, dice } = parts;
    this.#parts = parts;
    this.#networkUser = {
      dice: dice.of("networks"),
      list: async (service, path, collection) => {
        const response = await (service === "network" ? client.askNetwork("GET", path) : client.ask("GET", path));
        return response?.status === 200 ? Object.values(response.body[collection] ?? {}) : [];
      },
      act: async (operation, request, server) => {
        await client.act(operation, request, server);
      },
    };
  }

  async run(until: AbortSignal): Promise<void> {
    const { client, dice } = this.#parts;
    const regrets: Promise<void>[] = [];
    while (!until.aborted) {
      await dice.pause(50, 900, until);
      const response = await client.ask("GET", `/servers/detail${this.#parts.admin ? "?all_tenants=1" : ""}`);
      if (response?.status !== 200) {
        continue;
      }
      const servers = Object.values(response.body.servers ?? {});
      if (dice.chance(0.15)) {
        await changeNetworks(this.#networkUser);
        continue;
      }
      const server = this.#choose(servers);
      if (server === undefined || (servers.length < ENOUGH && dice.chance(0.4))) {
        const id = await this.#create();
        // Deletes some servers soon after creation, which is the most error-prone time.
        if (id !== null && dice.chance(0.1)) {
          regrets.push(this.#regret(id, until));
        }
      } else {
        await this.#act(server);
        if (dice.chance(0.03)) {
          regrets.push(this.#regret(String(server.id), until));
        }
      }
    }
    await Promise.all(regrets);
  }

  /** Selects a server, in most cases an idle one. */
  #choose(servers: readonly Json[]): Json | undefined {
    const { dice } = this.#parts;
    const idle = servers.filter((server) => (server["OS-EXT-STS:task_state"] as unknown) === null);
    return dice.pick(idle.length > 0 && dice.chance(0.8) ? idle : servers);
  }

  async #create(): Promise<string | null> {
    const { client, dice, journal, hosts, admin } = this.#parts;
    this.#created += 1;
    const host = admin && dice.chance(0.3) ? dice.pick(hosts) : undefined;
    const server = {
      name: `${client.who}-${this.#created}`,
      flavorRef: dice.pick(["1", "1", "2"]),
      imageRef: "c0ffee00-0000-4000-8000-000000000001",
      networks: await drawNetworks(this.#networkUser),
      ...(host === undefined ? {} : { host }),
    };
    const response = await client.act("create", { method: "POST", path: "/servers", body: { server } });
    const id = response?.body.server?.id;
    if (id === undefined) {
      return null;
    }
    journal.note(client.who, `created ${server.name}`, String(id));
    return String(id);
  }

  async #act({ id, status }: Json): Promise<void> {
    const { dice, admin } = this.#parts;
    const allowed = OPERATIONS.filter((operation) => admin || operation.admin !== true);
    const fitting = allowed.filter(({ statuses }) => statuses.includes(String(status)));
    const operation = dice.weighted(fitting.length > 0 && dice.chance(0.9) ? fitting : allowed);
    if (operation !== undefined) {
      await this.#carryOut(operation, String(id));
    }
  }

  async #carryOut({ name, body, version }: Operation, id: string): Promise<void> {
    const { client, dice, hosts } = this.#parts;
    if (body === null) {
      return this.#delete(id);
    }
    const request = {
      method: "POST",
      path: `/servers/${id}/action`,
      body: body(dice, hosts),
      ...(version === undefined ? {} : { version }),
    };
    await client.act(name, request, id);
  }

  async #regret(id: string, until: AbortSignal): Promise<void> {
    await this.#parts.dice.pause(0, 2_500, until);
    await this.#delete(id);
  }

  async #delete(id: string): Promise<void> {
    const { client, journal } = this.#parts;
    const response = await client.act("delete", { method: "DELETE", path: `/servers/${id}` }, id);
    if (response?.status === 204) {
      journal.deleteAcknowledged(id);
    }
  }
}
