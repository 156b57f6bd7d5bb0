import type { ServiceHandler } from "../../../runtime/http-server.js";
import type { Runtime } from "../../../runtime/runtime.js";
import type { BlockStorageOptions } from "../../block-storage/block-storage-options.js";
import { createBlockStorageService } from "../../block-storage/block-storage-service.js";
import { createBlockStorageTables } from "../../block-storage/block-storage-tables.js";
import type { BlockStorageWork } from "../../block-storage/engine/block-storage-context.js";
import { TYPES, type VolumeType } from "../../block-storage/resources/types.js";
import { VOLUMES, type Volume } from "../../block-storage/resources/volumes.js";
import type { VolumeImages } from "../../block-storage/volume-images.js";
import type { Credentials } from "../../credentials.js";
import type { Sql } from "../../database/sql.js";
import { HttpError } from "../../http/http-error.js";
import { type Condition, where } from "../../resources/condition.js";
import { ResourceTable } from "../../resources/resource-table.js";
import type { Change } from "../change.js";
import { withCopy } from "../database-copy.js";
import type { ProjectNames } from "../seed-users.js";

export type VolumeRuntime = Pick<Runtime, "clock" | "timers" | "random" | "logger">;

/** The sender of the file's requests. */
const OPERATOR: Credentials = {
  userId: "cluster-file",
  userName: "cluster-file",
  projectId: null,
  projectName: null,
  domainId: "default",
  roles: ["admin"],
  systemScope: null,
  expiresAt: Number.MAX_SAFE_INTEGER,
};

/** Default quotas are for users, not for the file. */
const NO_QUOTAS = { volumes: -1, gigabytes: -1, per_volume_gigabytes: -1 };

/** The file's volumes are empty. */
const NO_IMAGES: VolumeImages = {
  find: () => undefined,
  named: () => [],
  add: () => "",
  complete: () => {},
  remove: () => {},
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * The Block Storage service over a database whose control plane does not run, and the changes that make it match a file.
 * All changes are requests, so its rules apply. Their work is done when a request returns.
 */
export class VolumeRecords {
  readonly projects: ProjectNames;
  readonly changes: Change[] = [];
  readonly volumes: ResourceTable<(typeof VOLUMES)["attributes"]>;
  readonly types: ResourceTable<(typeof TYPES)["attributes"]>;
  readonly #sql: Sql;
  readonly #handle: ServiceHandler;
  readonly #complete: (work: BlockStorageWork) => void;
  readonly #work: BlockStorageWork[] = [];
  #projectId = "";

  constructor(sql: Sql, runtime: VolumeRuntime, projects: ProjectNames, options: Partial<BlockStorageOptions>) {
    createBlockStorageTables(sql);
    const { clock, timers, random, logger } = runtime;
    const { handle, worker } = createBlockStorageService({
      ...{ sql, clock, timers, random, logger },
      validate: () => ({ ...OPERATOR, projectId: this.#projectId }),
      images: NO_IMAGES,
      servers: { attachmentOf: () => undefined, notify: () => {} },
      faults: { hit: () => Promise.resolve(), peek: () => undefined },
      enqueue: (work) => this.#work.push(work),
      options: { ...options, quotas: NO_QUOTAS },
    });
    this.#sql = sql;
    this.#handle = handle;
    this.#complete = worker.complete;
    this.projects = projects;
    this.volumes = new ResourceTable(sql, VOLUMES);
    this.types = new ResourceTable(sql, TYPES);
  }

  /**
   * Sends a request of a project; returns the record of the response.
   * @param path `/volumes`
   * @throws {HttpError} with Cinder's message
   */
  send(projectId: string, method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Fields {
    this.#projectId = projectId;
    const [pathname = "", query = ""] = path.split("?");
    const response = this.#handle({
      method,
      path: `/v3/${projectId}${pathname}`,
      query,
      headers: { "content-type": "application/json", "openstack-api-version": "volume 3.70" },
      body: body === undefined ? "" : JSON.stringify(body),
      baseUrl: "",
    });
    if (response instanceof Promise) {
      throw new Error(`the request ${method} ${path} did not end within the transaction`);
    }
    const value = response.body === "" ? {} : (JSON.parse(response.body) as Readonly<Record<string, Fields>>);
    const [record = {}] = Object.values(value);
    if (response.status >= 300) {
      throw new HttpError(response.status, String(record.message));
    }
    for (const work of this.#work.splice(0)) {
      this.#complete(work);
    }
    return record;
  }

  report(sign: Change["sign"], text: string, destroys = false): void {
    this.changes.push({ sign, text, destroys });
  }

  /** Reports a changed record, which belongs to the file from now on. */
  reportChanges(label: string, id: string, descriptions: readonly string[], destroys = false): void {
    if (descriptions.length > 0) {
      this.report("~", `${label}: ${descriptions.join(", ")}`, destroys);
    } else if (!this.isFromFile(id)) {
      this.report("~", `${label}: belongs to the file`);
    }
    this.markAsFromFile(id);
  }

  isFromFile(id: string): boolean {
    return this.#sql.get("SELECT 1 FROM block_storage_from_file WHERE id = ?", id) !== undefined;
  }

  markAsFromFile(id: string): void {
    this.#sql.run("INSERT OR IGNORE INTO block_storage_from_file VALUES (?)", id);
  }

  typeNamed(name: string): VolumeType | undefined {
    return this.types.first(where`name = ${name}`);
  }

  typesOfFile(): readonly VolumeType[] {
    return this.types.find(FROM_FILE);
  }

  volumesOfFile(): readonly Volume[] {
    return this.volumes.find(FROM_FILE);
  }
}

const FROM_FILE: Condition = where`id IN (SELECT id FROM block_storage_from_file)`;

/** Runs `work` with a copy of the Block Storage service's records in memory: nothing that it changes is saved. */
export function withVolumeCopy<T>(source: Sql, work: (copy: Sql) => T): T {
  return withCopy(source, { tables: ["block_storage_*"], createTables: createBlockStorageTables }, work);
}
