import type { ChangingFaults } from "../../../faults/faults.js";
import type { Random } from "../../../runtime/cryptography.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import type { Credentials } from "../../credentials.js";
import type { Sql } from "../../database/sql.js";
import { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { and, type Condition, where } from "../../resources/condition.js";
import type { AttributeMap, RecordOf, StoredResource } from "../../resources/resource.js";
import { ResourceTable } from "../../resources/resource-table.js";
import type { BlockStorageOptions } from "../block-storage-options.js";
import type { AttachedServers } from "../server-volumes.js";
import type { VolumeImages } from "../volume-images.js";
import { recordNotFound } from "./block-storage-errors.js";
import { isAllowed } from "./policy.js";

/** Work on a record that takes time. It is stored in the transaction of its request, and survives a restart. */
export interface BlockStorageWork {
  /** Its name, which is also that of its fault point: `volume.create`. */
  readonly work: string;
  /** Id of the record. Work on one record runs in order. */
  readonly id: string;
  readonly requestId: string;
  readonly input: Readonly<Record<string, Json>>;
}

/** The dependencies that all requests and callers of the Block Storage service share. */
export interface BlockStorageServices {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly options: BlockStorageOptions;
  readonly images: VolumeImages;
  /** The servers that use volumes, as Compute knows them. */
  readonly servers: AttachedServers;
  readonly faults: Pick<ChangingFaults, "hit" | "peek">;
  /** Stores work for the cluster's task runner. */
  readonly enqueue: (work: BlockStorageWork) => void;
}

/** The caller of the service. */
export interface BlockStorageCaller {
  readonly credentials: Credentials;
  readonly projectId: string;
  readonly userId: string;
  readonly roles: readonly string[];
  readonly isAdmin: boolean;
  /** Whether the request has a token of a service, such as Compute's. */
  readonly isService: boolean;
}

/** A stored resource whose errors name it. */
export interface TitledResource<M extends AttributeMap = AttributeMap> extends StoredResource<M> {
  /** `Volume`: begins the message for an unknown id. */
  readonly title: string;
}

type Owned = { readonly project_id?: string };

/** The services and the caller of one request or of stored work. */
export class BlockStorageContext {
  readonly services: BlockStorageServices;
  readonly caller: BlockStorageCaller;
  readonly requestId: string;
  readonly #tables: Map<TitledResource, unknown>;

  constructor(
    services: BlockStorageServices,
    caller: BlockStorageCaller = INTERNAL,
    requestId = "",
    tables = new Map<TitledResource, unknown>(),
  ) {
    this.services = services;
    this.caller = caller;
    this.requestId = requestId;
    this.#tables = tables;
  }

  /** Returns the same context for another caller. Default: the service itself. */
  as(requestId: string, caller: BlockStorageCaller = INTERNAL): BlockStorageContext {
    return new BlockStorageContext(this.services, caller, requestId, this.#tables);
  }

  get sql(): Sql {
    return this.services.sql;
  }

  get now(): number {
    return this.services.clock.now();
  }

  newId(): string {
    return this.services.random.uuid();
  }

  /** Returns the stored records of a resource. */
  table<M extends AttributeMap>(resource: TitledResource<M>): ResourceTable<M, RecordOf<M>> {
    const key = resource as unknown as TitledResource;
    const known = this.#tables.get(key);
    if (known !== undefined) {
      return known as ResourceTable<M, RecordOf<M>>;
    }
    const table = new ResourceTable(this.sql, resource);
    this.#tables.set(key, table);
    return table;
  }

  insert<M extends AttributeMap>(resource: TitledResource<M>, record: RecordOf<M>): RecordOf<M> {
    this.table(resource).insert(record);
    return record;
  }

  /**
   * Changes a record and returns it.
   * @param only a condition that the record must meet; otherwise nothing is changed, and undefined is returned
   */
  change<M extends AttributeMap>(
    resource: TitledResource<M>,
    id: string,
    changes: Partial<RecordOf<M>>,
    only?: Condition,
  ): RecordOf<M> | undefined {
    const table = this.table(resource);
    const dated = "updated_at" in resource.attributes ? { updated_at: this.now, ...changes } : changes;
    const isChanged = table.updateIf(and(where`id = ${id}`, ...(only ? [only] : [])), dated as Partial<RecordOf<M>>);
    return isChanged ? table.get(id) : undefined;
  }

  /** Returns a record that the caller may see. @throws {HttpError} 404 */
  require<M extends AttributeMap>(resource: TitledResource<M>, id: string): RecordOf<M> {
    const record = this.table(resource).get(id);
    if (record === undefined || !this.sees(record as Owned)) {
      throw recordNotFound(resource, id);
    }
    return record;
  }

  /** Returns whether the caller may know the record. */
  sees({ project_id: owner }: Owned): boolean {
    return this.caller.isAdmin || owner === undefined || owner === this.caller.projectId;
  }

  /** @param target the record to which the rule applies. Default: the caller's project */
  allows(rule: string, { project_id: projectId = this.caller.projectId }: Owned = {}): boolean {
    return isAllowed(this.caller, rule, projectId);
  }

  /** @throws {HttpError} 403 */
  authorize(rule: string, target?: Owned): void {
    if (!this.allows(rule, target)) {
      throw new HttpError(403, `Policy doesn't allow ${rule} to be performed.`);
    }
  }

  /** Stores work on a record, which begins after the transaction. */
  enqueue(work: string, id: string, input: BlockStorageWork["input"] = {}): void {
    this.services.enqueue({ work, id, requestId: this.requestId, input });
  }
}

const INTERNAL: BlockStorageCaller = {
  credentials: {
    userId: "",
    userName: "cinder",
    projectId: null,
    projectName: null,
    domainId: "default",
    roles: ["admin", "service"],
    systemScope: null,
    expiresAt: Number.MAX_SAFE_INTEGER,
  },
  projectId: "",
  userId: "",
  roles: ["admin", "service"],
  isAdmin: true,
  isService: true,
};
