import type { ServiceHandler } from "../../../runtime/http-server.js";
import type { Runtime } from "../../../runtime/runtime.js";
import type { Credentials } from "../../credentials.js";
import { applySchema } from "../../database/schema-steps.js";
import type { Sql } from "../../database/sql.js";
import { HttpError } from "../../http/http-error.js";
import type { NetworkContext } from "../../network/engine/network-context.js";
import { hasFlatNetwork } from "../../network/migrate-flat-network.js";
import { createNetworkTables } from "../../network/network-tables.js";
import { openNetworkService } from "../../network/open-network-service.js";
import type { StartNetworks } from "../../network/start-networks.js";
import { STORE_SCHEMA } from "../../store/schema/store-schema.js";
import { withCopy } from "../database-copy.js";

export type NetworkRuntime = Pick<Runtime, "clock" | "timers" | "random" | "logger">;

/** The sender of the file's requests. */
const OPERATOR: Credentials = {
  userId: "cluster-file",
  userName: "cluster-file",
  projectId: null,
  projectName: null,
  domainId: "default",
  roles: ["admin"],
  systemScope: "all",
  expiresAt: Number.MAX_SAFE_INTEGER,
};

/** Default quotas are for users, not for the file. */
const NO_QUOTAS = { network: -1, subnet: -1, router: -1, floatingip: -1, security_group: -1, security_group_rule: -1 };

/** The Network service over a database whose control plane does not run. All changes are requests, so its rules apply. */
export class NetworkRecords {
  readonly context: NetworkContext;
  readonly #handle: ServiceHandler;

  constructor(sql: Sql, runtime: NetworkRuntime, start: StartNetworks) {
    const service = openNetworkService({
      sql,
      runtime,
      start,
      validate: () => OPERATOR,
      options: { quotas: NO_QUOTAS },
    });
    this.context = service.context.internal;
    this.#handle = service.handle;
  }

  /**
   * Sends a request; returns the record of the response.
   * @param path below `/v2.0`
   * @throws {HttpError} with Neutron's message
   */
  send(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Readonly<Record<string, unknown>> {
    const response = this.#handle({
      method,
      path: `/v2.0/${path}`,
      query: "",
      headers: { "content-type": "application/json" },
      body: body === undefined ? "" : JSON.stringify(body),
      baseUrl: "",
    });
    if (response instanceof Promise) {
      throw new Error(`the request ${method} ${path} did not end within the transaction`);
    }
    const value = response.body === "" ? {} : (JSON.parse(response.body) as Readonly<Record<string, unknown>>);
    const [record = {}] = Object.values(value) as Readonly<Record<string, unknown>>[];
    if (response.status >= 300) {
      throw new HttpError(response.status, String(record.message));
    }
    return record;
  }

  isFromFile(id: string): boolean {
    return this.context.sql.get("SELECT 1 FROM network_from_file WHERE id = ?", id) !== undefined;
  }

  markAsFromFile(id: string): void {
    this.context.sql.run("INSERT OR IGNORE INTO network_from_file VALUES (?)", id);
  }

  unmark(id: string): void {
    this.context.sql.run("DELETE FROM network_from_file WHERE id = ?", id);
  }
}

/** Runs `work` with a copy of the Network service's records in memory: nothing that it changes is saved. */
export function withNetworkCopy<T>(
  source: Sql,
  runtime: NetworkRuntime,
  start: StartNetworks,
  work: (records: NetworkRecords) => T,
): T {
  const createTables = (copy: Sql) => {
    applySchema(copy, "conductor", STORE_SCHEMA, runtime.clock.now());
    createNetworkTables(copy);
  };
  return withCopy(source, { tables: ["network_*", "flat_*"], createTables }, (copy) =>
    work(new NetworkRecords(copy, runtime, hasFlatNetwork(source) ? { ...start, start: "flat" } : start)),
  );
}
