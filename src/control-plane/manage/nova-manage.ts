import type { Conductor } from "../../conductor-client/port.js";
import { isAsRead, readConsumer, writeConsumer } from "../../placement-client/consumer-allocations.js";
import { isPlacementError } from "../../placement-client/errors.js";
import type { PlacementHttp } from "../../placement-client/placement-http.js";
import { AGAIN, retryConflicts } from "../../placement-client/retries.js";
import type { AllocationRewrite, RequestContext } from "../../placement-client/types.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Timers } from "../../runtime/time.js";

/** The dependencies of nova-manage's commands: conductor, Placement, and output. */
export interface ManageParts {
  readonly conductor: Pick<Conductor, "call">;
  readonly placement: PlacementHttp;
  readonly timers: Pick<Timers, "sleep">;
  readonly random: Random;
  /** `[workarounds] upstream_quirks` */
  readonly quirks: ReadonlySet<string>;
  /** The request id of this run. */
  readonly context: RequestContext;
  /** Prints a line to standard output. */
  readonly print: (line: string) => void;
}

/** Ends a command: prints the message and exits with `code`. */
export class ManageFailure extends Error {
  override readonly name = "ManageFailure";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The exit codes of all nova-manage commands for invalid input and for an unexpected failure. */
export const INVALID_INPUT = 127;

const UNEXPECTED = 255;

/** Runs a command, prints its error, and returns nova-manage's exit code. Never throws. */
export async function runCommand(print: (line: string) => void, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof ManageFailure) {
      print(error.message);
      return error.code;
    }
    print(`An error has occurred:\n${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`);
    return UNEXPECTED;
  }
}

interface NodeMoveOptions {
  readonly ironicNodeUuid?: string;
  readonly destinationHost?: string;
}

/**
 * `nova-manage db ironic_compute_node_move` (spec 7.6).
 * @throws {ManageFailure} and the conductor's errors; then nothing was changed
 */
export async function ironicNodeMove({ conductor }: ManageParts, options: NodeMoveOptions): Promise<number> {
  const { ironicNodeUuid: node, destinationHost: host } = options;
  if (node === undefined || host === undefined) {
    const missing = [
      ...(node === undefined ? ["compute_node_uuid"] : []),
      ...(host === undefined ? ["destination_service_host"] : []),
    ];
    throw new ManageFailure(UNEXPECTED, `An error has occurred:\nMissing arguments: ${missing.join(", ")}`);
  }
  await conductor.call("ironic_compute_node_move", { node, host });
  return 0;
}

/**
 * Writes the allocations of a consumer. Returns undefined on success, otherwise the reason in the format of Nova's
 * errors.
 * Retries generation conflicts of providers while the consumer is unchanged.
 */
export async function putAllocations(
  { placement, timers, random, context }: ManageParts,
  consumer: string,
  { read, ...rewrite }: AllocationRewrite,
): Promise<string | undefined> {
  const write = { ...rewrite, consumerGeneration: read.consumerGeneration };
  let rejection = "";
  try {
    const written = await retryConflicts({ timers, random }, async (tried) => {
      if (tried > 0 && !isAsRead(read, await readConsumer(placement, consumer, context))) {
        rejection = CHANGED;
        return false;
      }
      const response = await writeConsumer(placement, consumer, write, context);
      if (response.ok) {
        return true;
      }
      rejection = response.detail;
      return response.isConcurrentUpdate && !response.isConsumerConflict ? AGAIN : false;
    });
    return written === true ? undefined : updateFailed(consumer, rejection);
  } catch (error) {
    if (isPlacementError(error, "ConsumerAllocationRetrievalFailed")) {
      return updateFailed(consumer, error.message);
    }
    if (!isPlacementError(error, "PlacementAPIConnectFailure")) {
      throw error;
    }
    return NO_PLACEMENT;
  }
}

const CHANGED = "another process changed the consumer after its allocations were read";

/** The message of Nova's PlacementAPIConnectFailure. */
export const NO_PLACEMENT = "Unable to communicate with the Placement API.";

/** The message of Nova's AllocationUpdateFailed. */
export function updateFailed(consumer: string, error: string): string {
  return `Failed to update allocations for consumer ${consumer}. Error: ${error}`;
}
