import { NEUTRON_CALLERS, type NeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import type { KnownRecords, Members } from "../differential/known-records.js";
import type { Random } from "../differential/random.js";

/** The sources of bodies. */
export interface BodySource {
  readonly random: Random;
  readonly records: KnownRecords<NeutronCaller>;
  readonly caller: NeutronCaller;
  /** Returns another number at each call. */
  readonly count: () => number;
}

/** A collection of which requests are sent. */
export interface Subject {
  readonly collection: string;
  readonly singular: string;
  readonly path: string;
  /** Below a record of this collection: `floatingips`. */
  readonly parent?: string;
  readonly weight: number;
  readonly create?: (source: BodySource) => Members;
  readonly update?: (source: BodySource, record: Members) => Members;
  /** Member actions with their bodies. */
  readonly actions?: Readonly<Record<string, (source: BodySource, record: Members) => Members | undefined>>;
  readonly filters?: readonly string[];
}

export type Choices = Readonly<Record<string, readonly [probability: number, value: (source: BodySource) => unknown]>>;

/** Returns those attributes that chance selects. */
export function some(source: BodySource, choices: Choices): Members {
  const chosen = Object.entries(choices).filter(([, [probability]]) => source.random.chance(probability));
  return Object.fromEntries(chosen.map(([name, [, value]]) => [name, value(source)]));
}

export function idOf(collection: string) {
  return ({ random, records, caller }: BodySource): string => records.pickId(random, collection, caller);
}
export function oneOf<T>(...values: readonly T[]) {
  return ({ random }: BodySource): T => random.pick(values);
}
export function between(min: number, max: number) {
  return ({ random }: BodySource): number => random.integer(min, max);
}
export const bool = oneOf(true, false);
export const name = ({ count }: BodySource) => `n${count()}`;
export const description = oneOf("", "one", "two");
export const PROJECTS = [...new Set(Object.values(NEUTRON_CALLERS).map(({ projectId }) => projectId))];
export const project = oneOf(...Object.values(NEUTRON_CALLERS).map(({ projectId }) => projectId));
export function projectOfOthers({ caller, random }: BodySource) {
  return caller === "admin" || random.chance(0.2) ? random.pick(PROJECTS) : NEUTRON_CALLERS[caller].projectId;
}

export const common: Choices = {
  name: [0.9, name],
  description: [0.3, description],
  project_id: [0.12, projectOfOthers],
};
export function freeAddress({ random, records }: BodySource, subnetId: unknown): string {
  const cidr = records.get(String(subnetId))?.attributes.cidr;
  const block = typeof cidr === "string" && cidr.includes(".") ? cidr.split(".").slice(0, 3).join(".") : undefined;
  return block === undefined ? "10.99.99.9" : `${block}.${random.integer(105, 120)}`;
}

export function addressOfPort({ random, records, caller }: BodySource): string {
  const fixed = records.pick(random, "ports", caller)?.attributes.fixed_ips;
  const [first] = Array.isArray(fixed) ? (fixed as readonly Members[]) : [];
  return String(first?.ip_address ?? "10.99.99.8");
}

export function prefixes({ count, random }: BodySource): readonly string[] {
  const number = count();
  return random.pick([
    [`10.${200 + (number % 40)}.0.0/16`],
    [`192.168.${number % 250}.0/24`],
    [`fd10:${number.toString(16)}::/48`],
  ]);
}
