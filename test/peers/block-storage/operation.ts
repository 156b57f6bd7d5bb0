import { type CinderCaller, projectOf } from "../../fixtures/cinder/cinder-callers.js";
import type { KnownRecord, KnownRecords, Members } from "../differential/known-records.js";
import type { Random } from "../differential/random.js";

/** The sources of bodies and queries. */
export interface Source {
  readonly random: Random;
  readonly records: KnownRecords<CinderCaller>;
  readonly caller: CinderCaller;
  /** The record of the path. */
  readonly record: KnownRecord<CinderCaller> | undefined;
  /** Returns another number at each call. */
  readonly count: () => number;
}

/** A kind of request. */
export interface Operation {
  readonly weight: number;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the project; names of collections in braces become ids: `/volumes/{volumes}`. */
  readonly path: string;
  /** The action in its body, which belongs to the kind. */
  readonly action?: string;
  readonly body?: (source: Source) => unknown;
  /** Returns the query without its question mark. */
  readonly query?: (source: Source) => string;
  /** Default: all callers by their weights. */
  readonly callers?: readonly CinderCaller[];
  /** Whether its body is sent as it is, without random mutations. */
  readonly isExact?: true;
}

type Value = (source: Source) => unknown;

export type Choices = Readonly<Record<string, readonly [probability: number, value: Value]>>;

/** Returns those attributes that chance selects. */
export function some(choices: Choices): (source: Source) => Members {
  return (source) => {
    const chosen = Object.entries(choices).filter(([, [probability]]) => source.random.chance(probability));
    return Object.fromEntries(chosen.map(([name, [, value]]) => [name, value(source)]));
  };
}

export function oneOf<T>(...values: readonly T[]) {
  return ({ random }: Source): T => random.pick(values);
}

export const name: Value = ({ count }) => `n${count()}`;

export function idIn(collection: string): Value {
  return ({ records, random, caller }) => records.pickId(random, collection, caller);
}

export function nameOrIdIn(collection: string): Value {
  return ({ records, random, caller }) => {
    const record = records.pick(random, collection, caller);
    return random.chance(0.05) ? "unknown" : random.chance(0.5) ? record?.attributes.name : record?.id;
  };
}

/** Servers that use volumes; Compute knows none of them. */
export const SERVERS = ["5e000000-0000-4000-8000-000000000001", "5e000000-0000-4000-8000-000000000002"] as const;

export const IMAGES = ["17000000-0000-4000-8000-000000000001", "17000000-0000-4000-8000-000000000002"] as const;

export const PROJECTS = [projectOf("admin"), projectOf("member"), projectOf("alt")] as const;

export const ADMINS: readonly CinderCaller[] = ["admin", "demo-admin", "admin", "demo-admin", "demo-admin", "member"];

export const connector: Value = oneOf<unknown>(
  { host: "devstack1", initiator: "iqn.1993-08.org.debian:01:1", ip: "192.0.2.1" },
  { host: "devstack2", initiator: "iqn.1993-08.org.debian:01:2" },
  { host: "devstack1", initiator: "iqn.1993-08.org.debian:01:1", mode: "ro", mountpoint: "/dev/vdb" },
);

export const metadata: Value = oneOf<unknown>({ a: "1" }, { a: "2", b: "x" }, { c: "y" }, {});

export const bool: Value = oneOf<unknown>(true, false, "True", "no");

/** An action of a record: `POST /volumes/{volumes}/action`. */
export function action(
  weight: number,
  collection: string,
  action: string,
  input: (source: Source) => unknown = () => ({}),
  more: Partial<Operation> = {},
): Operation {
  const path = `/${collection}/{${collection}}/action`;
  return { weight, method: "POST", path, action, body: (source) => ({ [action]: input(source) }), ...more };
}

interface ListOptions {
  readonly path?: string;
  readonly filters?: Choices;
  readonly sortKeys?: readonly string[];
}

/** Lists of a collection and single records. */
export function reads(weight: number, collection: string, options: ListOptions = {}): readonly Operation[] {
  const { path = collection, filters = {}, sortKeys = [] } = options;
  const query = (source: Source) => listQuery(source, collection, filters, sortKeys);
  return [
    { weight: weight * 0.4, method: "GET", path: `/${path}`, query },
    { weight: weight * 0.6, method: "GET", path: `/${path}/detail`, query },
    { weight: weight * 0.5, method: "GET", path: `/${path}/{${collection}}` },
  ];
}

export function listQuery(source: Source, collection: string, filters: Choices, sortKeys: readonly string[]): string {
  const { random, caller, records } = source;
  const isAdmin = caller === "admin" || caller === "demo-admin";
  const pairs: (readonly [string, unknown])[] = Object.entries(some(filters)(source));
  if (["types", "messages"].includes(collection)) {
    // Their lists have no such parameter.
  } else if (isAdmin ? random.chance(0.5) : random.chance(0.1)) {
    const odd = collection === "volumes" ? ["0", "x"] : [];
    pairs.push(["all_tenants", random.pick(["1", "True", ...odd])]);
  }
  if (sortKeys.length > 0 && random.chance(0.2)) {
    const way = random.pick([":asc", ":desc", "", ":up"]);
    pairs.push(random.chance(0.7) ? ["sort", `${random.pick(sortKeys)}${way}`] : ["sort_key", random.pick(sortKeys)]);
  }
  if (random.chance(0.2)) {
    pairs.push(["limit", random.pick(["1", "2", "3", "0", "-1", "x"])]);
  }
  if (random.chance(0.08)) {
    pairs.push(["offset", random.pick(["0", "1", "2", "-1"])]);
  }
  if (random.chance(0.08)) {
    pairs.push(["marker", records.pickId(random, collection, caller)]);
  }
  if (random.chance(0.08)) {
    pairs.push(["with_count", random.pick(["True", "0"])]);
  }
  if (random.chance(0.04)) {
    pairs.push(["bogus", "1"]);
  }
  return pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&");
}

/** The routes of a record's metadata. */
export function metadataOperations(weight: number, collection: string): readonly Operation[] {
  const path = `/${collection}/{${collection}}/metadata`;
  const key = oneOf("a", "b", "gone");
  const item = (source: Source) => ({ meta: { [String(key(source))]: source.random.pick(["1", "2"]) } });
  return [
    { weight, method: "GET", path },
    { weight, method: "POST", path, body: (source) => ({ metadata: metadata(source) }) },
    { weight: weight * 0.5, method: "PUT", path, body: (source) => ({ metadata: metadata(source) }) },
    { weight, method: "GET", path: `${path}/a` },
    { weight, method: "PUT", path: `${path}/a`, body: item },
    { weight: weight * 0.7, method: "DELETE", path: `${path}/b` },
  ];
}
