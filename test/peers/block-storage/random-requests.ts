import { type CinderCaller, projectOf } from "../../fixtures/cinder/cinder-callers.js";
import type { KnownRecord, KnownRecords, Members } from "../differential/known-records.js";
import type { Random } from "../differential/random.js";
import type { Operation, Source } from "./operation.js";
import { OPERATIONS } from "./operations.js";

/** A request in terms of the real Cinder's ids. */
export interface RandomRequest {
  readonly caller: CinderCaller;
  readonly method: string;
  /** Below the mount point. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** The last record of the path. */
  readonly record?: KnownRecord<CinderCaller>;
  /** `/volumes/{id}/action os-extend` */
  readonly template: string;
}

const CALLERS: readonly (readonly [number, CinderCaller])[] = [
  [45, "member"],
  [17, "demo-admin"],
  [16, "alt"],
  [15, "admin"],
  [7, "reader"],
];

const JUNK: readonly unknown[] = [null, true, "", "text", 0, -1, 1.5, [], {}, "x".repeat(300), { a: 1 }, " padded "];

const MAX_MICROVERSION = 70;

/** Creates random requests about the records that both services have. */
export class RandomRequests {
  readonly #random: Random;
  readonly #records: KnownRecords<CinderCaller>;
  #count = 0;

  constructor(random: Random, records: KnownRecords<CinderCaller>) {
    this.#random = random;
    this.#records = records;
  }

  next(): RandomRequest {
    const random = this.#random;
    const operation = random.weighted(OPERATIONS.map((one) => [one.weight, one] as const));
    const caller = operation.callers ? random.pick(operation.callers) : random.weighted(CALLERS);
    const version = random.chance(0.6) ? MAX_MICROVERSION : random.integer(0, MAX_MICROVERSION);
    const { path, record } = this.#fill(operation.path, caller);
    const source: Source = { random, records: this.#records, caller, record, count: () => ++this.#count };
    const query = operation.query?.(source) ?? "";
    const body = operation.body && this.#mutate(operation, operation.body(source));
    const isOfProject = !path.startsWith("/default-types");
    return {
      caller,
      method: operation.method,
      path: `/v3${isOfProject ? `/${projectOf(caller)}` : ""}${path}${query === "" ? "" : `?${query}`}`,
      headers: {
        "openstack-api-version": `volume 3.${version}`,
        ...(random.chance(0.1) && { "x-service-token": "service" }),
      },
      ...(body !== undefined && { body }),
      ...(record && { record }),
      template: operation.path.replace(/\{\w+\}/g, "{id}") + (operation.action ? ` ${operation.action}` : ""),
    };
  }

  /** Replaces collections in a path by ids of their records. */
  #fill(path: string, caller: CinderCaller) {
    let record: KnownRecord<CinderCaller> | undefined;
    const filled = path.replace(/\{(\w+)\}/g, (_braces, collection: string) => {
      const id = this.#records.pickId(this.#random, collection, caller);
      record = this.#records.get(id);
      return id;
    });
    return { path: filled, record };
  }

  /** Replaces, adds or removes a member of one body in ten. */
  #mutate({ isExact }: Operation, body: unknown): unknown {
    const random = this.#random;
    if (isExact || random.chance(0.9) || typeof body !== "object" || body === null) {
      return body;
    }
    const [key, inner] = Object.entries(body as Members)[0] ?? [];
    if (key === undefined || typeof inner !== "object" || inner === null || Array.isArray(inner)) {
      return body;
    }
    const members = inner as Members;
    const member = random.pick([...Object.keys(members), "bogus"]);
    const { [member]: _removed, ...rest } = members;
    return { ...body, [key]: random.chance(0.25) ? rest : { ...members, [member]: random.pick(JUNK) } };
  }
}
