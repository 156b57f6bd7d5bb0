import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import type { ConductorMethod, ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf, ResultOf } from "../../conductor-client/methods/method.js";
import { isObject } from "../../runtime/collections.js";
import type { Runtime } from "../../runtime/runtime.js";
import { NovaRpcError } from "../errors.js";
import { isFailure } from "../messages/failures.js";
import type { MessageScopes } from "../messages/message-scope.js";
import { adminContext, type NovaContext, readingDeleted, requestIdOf } from "../messages/oslo-message.js";
import type { CallLimits, Rpc } from "../messages/rpc.js";
import { type NovaObject, type ObjectData, overlaid } from "../objects/primitive.js";
import { OLDEST_PROFILE, profileOf, type ReleaseProfile } from "../objects/profile.js";
import { ALTERNATE_TOPIC_SERVICE_VERSION, hasAlternateTopic } from "../transport/topology.js";
import type { KnownRows } from "./known-rows.js";

const SERVICE = ["Service", "ComputeNode", "HVSpec", "PciDevicePoolList", "PciDevicePool"];

const COMPUTE_NODE = ["ComputeNode", "HVSpec", "PciDevicePoolList", "PciDevicePool"];

const MIGRATION = ["Migration"];

const INSTANCE = [
  "Instance",
  "ServiceList",
  ...SERVICE,
  "InstanceInfoCache",
  "SecurityGroupList",
  "SecurityGroup",
  "InstanceFault",
  "PciDeviceList",
  "PciDevice",
  "InstanceNUMATopology",
  "InstanceNUMACell",
  "VirtCPUTopology",
  "InstancePCIRequests",
  "InstancePCIRequest",
  "InstanceDeviceMetadata",
  "DeviceMetadata",
  "DeviceBus",
  "TagList",
  "Tag",
  "Flavor",
  "VirtCPUModel",
  "VirtCPUFeature",
  "EC2Ids",
  "MigrationContext",
  "ResourceList",
  "Resource",
  "ResourceMetadata",
  "KeyPairList",
  "KeyPair",
  "TrustedCerts",
];

/** Objects that a response may contain, by the requested object. */
const NESTED: Readonly<Record<string, readonly string[]>> = {
  Service: SERVICE,
  ServiceList: ["ServiceList", ...SERVICE],
  ComputeNode: COMPUTE_NODE,
  ComputeNodeList: ["ComputeNodeList", ...COMPUTE_NODE],
  Migration: MIGRATION,
  MigrationList: ["MigrationList", ...MIGRATION],
  Instance: INSTANCE,
  BlockDeviceMappingList: ["BlockDeviceMappingList", "BlockDeviceMapping"],
  InstanceList: ["InstanceList", ...INSTANCE],
};

const TOPIC = "conductor";

/** The version of object methods, which is equal in all releases. */
const VERSION = "3.0";

/** Timeout of each of the first attempts to reach a conductor, in milliseconds, and their number. */
const FIRST_TRY = 10_000;

const FIRST_TRIES = 10;

/**
 * Lifetime of the oldest nova-compute's version in milliseconds. Nova caches it until the process ends; here an upgrade is
 * noticed within an hour.
 */
const OLDEST_COMPUTE_TTL_MS = 3_600_000;

export interface AskOptions {
  /** Whether deleted rows are included. */
  readonly deleted?: boolean;
  /** Whether the call changes data, so that it must not be repeated if its outcome is unknown. */
  readonly writes?: boolean;
  /** The API request, if it differs from the current message's. */
  readonly requestId?: string;
  readonly limits?: Pick<CallLimits, "timeout" | "signal">;
}

/** The result of an object's method. */
export interface Acted {
  /** The object with all values of the response, without unsaved fields. */
  readonly object: NovaObject;
  readonly result: unknown;
}

interface Options {
  readonly rpc: Rpc;
  readonly scopes: MessageScopes;
  readonly runtime: Pick<Runtime, "clock" | "random" | "logger">;
}

/** A client of nova-conductor: calls methods of Nova's objects, which it executes on the database. */
export class NovaConductor {
  readonly #options: Options;
  #profile: ReleaseProfile = OLDEST_PROFILE;
  #isMet = false;
  /** The lowest service version of a nova-compute; null if unknown. `requestedAt` is in monotonic milliseconds. */
  #oldestCompute: { readonly version: number; readonly requestedAt: number } | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The release of the conductor; the oldest release until a conductor has responded. */
  get profile(): ReleaseProfile {
    return this.#profile;
  }

  /** Whether a conductor has responded. */
  get isMet(): boolean {
    return this.#isMet;
  }

  /**
   * Waits until a conductor has reported its version. @param onWaiting called once, if the first attempt gets no response
   */
  async meet(onWaiting: (reason: string) => void, signal?: AbortSignal): Promise<ReleaseProfile> {
    for (let tries = 1; ; tries += 1) {
      const limits = { ...(tries <= FIRST_TRIES ? { timeout: FIRST_TRY } : {}), ...(signal ? { signal } : {}) };
      try {
        const version = await this.ask("Service", "get_minimum_version", ["nova-conductor"], {}, { limits });
        this.#profile = profileOf(typeof version === "number" ? version : 0);
        this.#isMet = true;
        return this.#profile;
      } catch (error) {
        if (!isConductorError(error, "MessagingTimeout")) {
          throw error;
        }
        if (tries === 1) {
          onWaiting("no nova-conductor responds");
        }
      }
    }
  }

  /**
   * Returns whether all nova-computes read the alternate topic of compute RPC 6.5. The value may be one hour old: a
   * nova-compute of an earlier release cannot join computes of this one, and a later change only moves requests to a topic
   * that all read.
   */
  async hasAlternateTopic(options: AskOptions = {}): Promise<boolean> {
    if (!hasAlternateTopic(this.#profile)) {
      return false;
    }
    const now = this.#options.runtime.clock.monotonic();
    if (this.#oldestCompute === null || now - this.#oldestCompute.requestedAt >= OLDEST_COMPUTE_TTL_MS) {
      const version = await this.ask("Service", "get_minimum_version", ["nova-compute"], {}, options);
      this.#oldestCompute = { version: typeof version === "number" ? version : 0, requestedAt: now };
    }
    return this.#oldestCompute.version >= ALTERNATE_TOPIC_SERVICE_VERSION;
  }

  /** Calls a class method of an object. @returns an object, a list object or a plain value */
  async ask(
    name: string,
    method: string,
    args: readonly unknown[],
    kwargs: Readonly<Record<string, unknown>> = {},
    options: AskOptions = {},
  ): Promise<unknown> {
    const ask = () => {
      const object_versions = manifest(name, this.#profile);
      return this.#call(
        "object_class_action_versions",
        { objname: name, objmethod: method, object_versions, args, kwargs },
        options,
      );
    };
    try {
      return await ask();
    } catch (error) {
      // The conductor was replaced by one of an earlier release.
      if (!isFailure(error, "IncompatibleObjectVersion") || this.#profile === OLDEST_PROFILE) {
        throw error;
      }
      this.#options.runtime.logger.warn(
        "the conductor is of an earlier release than it reported; assuming the oldest supported release",
        {
          err: error,
        },
      );
      this.#profile = OLDEST_PROFILE;
      return ask();
    }
  }

  /** Calls a method of an object, and sends its unsaved fields. */
  async act(
    object: NovaObject,
    method: string,
    kwargs: Readonly<Record<string, unknown>> = {},
    options: AskOptions = {},
  ): Promise<Acted> {
    const reply = await this.#call(
      "object_action",
      { objinst: object, objmethod: method, args: [], kwargs },
      { ...options, writes: true },
    );
    if (!Array.isArray(reply) || !isObject(reply[0])) {
      throw new NovaRpcError("MalformedObject", `object_action ${method} returned no updates`);
    }
    const { obj_what_changed: _changed, ...updates } = reply[0];
    return { object: saved(object, updates), result: reply[1] };
  }

  /** Sends a task without waiting for a result (`compute_task`). */
  async castTask(method: string, version: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#options.rpc.cast({
      topic: TOPIC,
      namespace: "compute_task",
      method,
      version,
      args,
      context: this.context(),
    });
  }

  /** Sends a task like {@link castTask}, and waits for its end. */
  callTask(
    method: string,
    version: string,
    args: Readonly<Record<string, unknown>>,
    limits: CallLimits,
  ): Promise<unknown> {
    const request = { topic: TOPIC, namespace: "compute_task", method, version, args, context: this.context() };
    return this.#options.rpc.call(request, limits);
  }

  /** Returns the context of the current message; without a message, a context with administrator rights. */
  context(requestId?: string): NovaContext {
    const { scopes, runtime } = this.#options;
    const { current } = scopes;
    if (current !== null && (requestId === undefined || requestId === requestIdOf(current.context))) {
      return current.context;
    }
    return adminContext(requestId ?? `req-${runtime.random.uuid()}`, runtime.clock.now());
  }

  #call(
    method: string,
    args: Readonly<Record<string, unknown>>,
    { deleted = false, writes = false, requestId, limits = {} }: AskOptions,
  ): Promise<unknown> {
    const context = this.context(requestId);
    return this.#options.rpc.call(
      { topic: TOPIC, method, version: VERSION, args, context: deleted ? readingDeleted(context) : context },
      { ...limits, repeatable: !writes },
    );
  }
}

function saved(object: NovaObject, updates: ObjectData): NovaObject {
  return overlaid({ ...object, "nova_object.changes": [] }, updates);
}

/** Returns null if the conductor reports one of these exceptions, such as a missing row. */
export async function nullIf<T>(read: Promise<T>, ...classes: readonly string[]): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ConductorError && classes.some((name) => isFailure(error, name))) {
      return null;
    }
    throw error;
  }
}

/**
 * Returns the supported versions of a response's objects. The conductor gets them as `object_versions`, and backports to
 * them.
 */
function manifest(name: string, profile: ReleaseProfile): Readonly<Record<string, string>> {
  const entries = (NESTED[name] ?? [name]).flatMap((nested) => {
    const version = profile.objects.get(nested);
    return version === undefined ? [] : [[nested, version] as const];
  });
  return Object.fromEntries(entries);
}

/** Inputs of every call of the port. */
export interface CallTools {
  readonly nova: NovaConductor;
  readonly rpc: Rpc;
  readonly rows: KnownRows;
  readonly scopes: MessageScopes;
  /** The calling host. */
  readonly host: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Options of the port's caller. */
  readonly options: AskOptions;
}

/** Implementations of the port's methods with calls to a real Nova. */
export type ConductorCalls = {
  readonly [M in ConductorMethod]: (
    params: ParamsOf<ConductorMethods, M>,
    tools: CallTools,
  ) => Promise<ResultOf<ConductorMethods, M>>;
};
