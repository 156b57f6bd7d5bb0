import { readFile } from "node:fs/promises";
import { join } from "node:path";

const LOGS = ["nova-conductor", "nova-scheduler", "nova-api", "placement"];

/** The last line of a traceback with its exception, as oslo.log and Python write it. */
const RAISED = / (?:ERROR|CRITICAL) \S+ (?<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::|$)/;
/**
 * Moves that the conductor cancels since it, or a compute that it called, got no response. These are not failures of its
 * own.
 */
const UNANSWERED = /Exception_Remote: .*no response to .* in \d+ s|\.MigrationError: .*Timed out waiting for a reply/;
/** Moves of allocations that no longer exist since the server was deleted: the conductor reads the project there. */
const HOLDS_NOTHING = /KeyError: 'project_id'$/;
/** The wrapper of exceptions that end a live migration in the conductor; the wrapped one is usual. */
const WRAPS_USUAL =
  /\.MigrationError: Migration error: (?:Failed to move allocations |Instance \S+ could not be found|'project_id'$)/;
const USUAL_LINES = [UNANSWERED, HOLDS_NOTHING, WRAPS_USUAL];

/**
 * Exceptions that Nova's services raise with any computes, while RabbitMQ is unavailable or a server is in an unsuitable
 * state: calls without a response, undelivered casts, moves without a host or of a deleted server, and allocation
 * conflicts.
 */
const USUAL =
  /(?:^|\.)(?:MessagingTimeout|MessageDeliveryFailure|MessageUndeliverable|NoValidHost|MaxRetriesExceeded|Conflict|AllocationMoveFailed|InstanceNotFound)(?:_Remote)?$/;
/** Exceptions of amqp and of sockets, and those that oslo.messaging converts to a timeout. */
const OF_THE_BROKER =
  /^(?:amqp\.|kombu\.|_queue\.Empty$|Connection\w*Error$|BrokenPipeError$|OSError$|TimeoutError$|socket\.)/;

/** Exceptions of a service; `example` is the log line of the first one. */
export interface ServiceFailure {
  readonly times: number;
  readonly example: string;
}

/** Reads the exceptions in the logs of Nova's own services. */
export async function failuresOfServices(state: string): Promise<ReadonlyMap<string, ServiceFailure>> {
  const found = new Map<string, ServiceFailure>();
  for (const service of LOGS) {
    const log = await readFile(join(state, "log", `${service}.log`), "utf8").catch(() => "");
    for (const line of log.split("\n")) {
      const name = RAISED.exec(line)?.groups?.name;
      if (name !== undefined && name !== "Traceback" && !USUAL_LINES.some((usual) => usual.test(line))) {
        const what = `${service}: ${name}`;
        const { times, example } = found.get(what) ?? { times: 0, example: line };
        found.set(what, { times: times + 1, example });
      }
    }
  }
  return found;
}

/** Returns true if the exception also occurs with real nova-computes. */
export function isUsual(failure: string): boolean {
  const name = failure.slice(failure.indexOf(": ") + 2);
  return USUAL.test(name) || OF_THE_BROKER.test(name);
}
