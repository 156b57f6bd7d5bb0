import type { IronicNode } from "./ironic-node.js";

/** One step of a JSON patch (RFC 6902). */
export interface PatchStep {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

/** Which nodes are listed. */
export interface NodeQuery {
  /** The empty text is the default group; left out: all groups. */
  readonly conductorGroup?: string;
  readonly shard?: string;
}

export interface ValidationResult {
  readonly result: boolean | null;
  readonly reason: string | null;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export type PowerTarget = "power on" | "power off" | "rebooting" | "soft power off" | "soft rebooting";

export type ProvisionRequest =
  | { readonly target: "active" | "rebuild"; readonly configdrive?: unknown }
  | { readonly target: "deleted" | "unrescue" }
  | { readonly target: "rescue"; readonly rescuePassword: string };

/** The requests that the driver makes. Every method throws {@link IronicError}. */
export interface IronicApi {
  /** The API version agreed on: `1.82`. */
  version(): Promise<string>;
  /** All of them, each once; a listing that is short or contradicts itself is `malformed`. */
  listNodes(query: NodeQuery, options?: CallOptions): Promise<readonly IronicNode[]>;
  getNode(uuid: string, options?: CallOptions): Promise<IronicNode>;
  /** Null: no node has the instance. */
  findByInstance(instance: string, options?: CallOptions): Promise<IronicNode | null>;
  /** `claim`: a conflict is the answer, not a reason to try again. */
  patchNode(
    uuid: string,
    patch: readonly PatchStep[],
    options?: CallOptions & { readonly claim?: boolean },
  ): Promise<void>;
  /** By interface: `deploy`, `power`, `storage`. */
  validate(uuid: string, options?: CallOptions): Promise<Readonly<Record<string, ValidationResult>>>;
  setProvisionState(uuid: string, request: ProvisionRequest, options?: CallOptions): Promise<void>;
  /** `timeout`: seconds that a soft target may take. */
  setPowerState(
    uuid: string,
    target: PowerTarget,
    options?: CallOptions & { readonly timeout?: number },
  ): Promise<void>;
  /** A port that is attached already is success. */
  attachVif(uuid: string, port: string, options?: CallOptions): Promise<void>;
  /** A port that is not attached is success. */
  detachVif(uuid: string, port: string, options?: CallOptions): Promise<void>;
  /** Uuids of the node's volume targets. */
  volumeTargets(uuid: string, options?: CallOptions): Promise<readonly string[]>;
  deleteVolumeTarget(target: string, options?: CallOptions): Promise<void>;
}
