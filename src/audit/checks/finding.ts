import type { Amounts, Inventory, Migration, PortBinding, Server } from "../read/records.js";
import type { SnapshotIndex } from "./inputs.js";

/** Stable, since scripts may depend on them. docs/reference/audit-codes.md explains each. */
export const CODES = [
  "orphaned-consumer",
  "baremetal-leftover",
  "unknown-consumer",
  "wrong-provider",
  "doubled-allocation",
  "missing-allocation",
  "wrong-amounts",
  "wrong-owner",
  "provider-without-node",
  "node-without-provider",
  "identity-clash",
  "overcommitted-inventory",
  "stale-inventory",
  "unfinished-migration",
  "unfinished-evacuation",
  "stale-guest",
  "guest-without-server",
  "dangling-port",
  "misbound-port",
  "leftover-binding",
  "orphaned-attachment",
  "leftover-attachment",
  "misplaced-attachment",
  "missing-attachment",
  "stuck-volume",
] as const;

export type Code = (typeof CODES)[number];

export interface Finding {
  readonly code: Code;
  readonly subject: Subject;
  /** The provider that the finding concerns, if the subject is not a provider; the host of a port's binding, the volume of an attachment. */
  readonly provider: Reference | null;
  /** One or two sentences for an operator. */
  readonly explanation: string;
  /** Changes that would fix the problem; empty if this program may not make any. */
  readonly remedies: readonly Remedy[];
  /** Why there is no remedy, and what to do; null if there is one. */
  readonly left: string | null;
}

interface Reference {
  readonly uuid: string;
  readonly name: string;
}

export interface Subject extends Reference {
  readonly kind: "server" | "migration" | "consumer" | "provider" | "node" | "guest" | "port" | "volume" | "attachment";
}

/** A change of one object. Changes of the same consumer are combined into one edit. */
export type Remedy = ConsumerRemedy | ProviderRemedy | PortRemedy | VolumeRemedy;

export type ConsumerRemedy =
  /** `consumer` gets the allocations of `from`, and `from` has none afterwards. */
  | { readonly kind: "take-over"; readonly consumer: string; readonly from: string }
  | { readonly kind: "clear"; readonly consumer: string }
  | { readonly kind: "drop"; readonly consumer: string; readonly providers: readonly string[] }
  /** Amounts by resource class on that provider, 0 to remove a class; other classes stay. */
  | { readonly kind: "hold"; readonly consumer: string; readonly provider: string; readonly amounts: Amounts }
  /** Also sets the owner of a consumer without allocations. */
  | { readonly kind: "own"; readonly consumer: string; readonly projectId: string; readonly userId: string };

export type ProviderRemedy =
  | { readonly kind: "create-provider"; readonly uuid: string; readonly name: string }
  | { readonly kind: "rename-provider"; readonly uuid: string; readonly name: string }
  | { readonly kind: "delete-provider"; readonly uuid: string }
  | {
      readonly kind: "set-inventories";
      readonly uuid: string;
      readonly inventories: Readonly<Record<string, Inventory>>;
    };

export type PortRemedy =
  | {
      readonly kind: "set-port";
      readonly port: string;
      readonly device_id: string;
      readonly device_owner: string;
      /** Empty: unbound. */
      readonly host: string;
    }
  | { readonly kind: "delete-binding"; readonly port: string; readonly binding: PortBinding };

export type VolumeRemedy =
  | { readonly kind: "set-volume"; readonly volume: string; readonly status: "available" | "in-use" }
  | {
      readonly kind: "delete-attachment";
      readonly volume: string;
      readonly attachment: string;
      readonly server: string;
    };

/** Returns a key by which the same finding is recognised in a second snapshot. */
export function keyOf({ code, subject, provider }: Finding): string {
  return [code, subject.uuid, provider?.uuid ?? ""].join(" ");
}

export const serverSubject = ({ id, name }: Server): Subject => ({ kind: "server", uuid: id, name });

export function migrationSubject(uuid: string, { id, type }: Migration): Subject {
  return {
    kind: "migration",
    uuid,
    name: `${type} ${id}`,
  };
}

export function providerSubject(index: SnapshotIndex, uuid: string): Subject {
  return {
    kind: "provider",
    ...reference(index, uuid),
  };
}

export const reference = (index: SnapshotIndex, uuid: string): Reference => ({ uuid, name: index.name(uuid) });
