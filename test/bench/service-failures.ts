import { readFile } from "node:fs/promises";
import { join } from "node:path";

const LOGS = ["nova-conductor", "nova-scheduler", "nova-api", "placement"];

/** The last line of a traceback: its exception, as oslo.log and Python write it. */
const RAISED = / (?:ERROR|CRITICAL) \S+ (?<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::|$)/;
/** A move that the conductor gives up because nobody answered it, or a compute that it has asked, is that, and no failure of its own. */
const UNANSWERED = /Exception_Remote: .*no response to .* in \d+ s|\.MigrationError: .*Timed out waiting for a reply/;
/** So is a move of what a server holds that holds nothing any more, as it was deleted meanwhile: a conductor looks for its project there. */
const HOLDS_NOTHING = /KeyError: 'project_id'$/;
/** What ends a live migration in the conductor is raised as this: what it wraps is one of the usual. */
const WRAPS_USUAL =
  /\.MigrationError: Migration error: (?:Failed to move allocations |Instance \S+ could not be found|'project_id'$)/;
const USUAL_LINES = [UNANSWERED, HOLDS_NOTHING, WRAPS_USUAL];

/**
 * What the services of a Nova raise, whoever its computes are, while RabbitMQ is away, and when a server is asked for what it cannot
 * do now: calls that nobody answers, casts that nobody takes, moves that find no host, whose server is deleted, or whose
 * allocations somebody else has just written.
 */
const USUAL =
  /(?:^|\.)(?:MessagingTimeout|MessageDeliveryFailure|MessageUndeliverable|NoValidHost|MaxRetriesExceeded|Conflict|AllocationMoveFailed|InstanceNotFound)(?:_Remote)?$/;
/** amqp's and the sockets' own, and of oslo.messaging what it makes a timeout of. */
const OF_THE_BROKER =
  /^(?:amqp\.|kombu\.|_queue\.Empty$|Connection\w*Error$|BrokenPipeError$|OSError$|TimeoutError$|socket\.)/;

/** What a service has raised; `example` is the line of its log that has the first. */
export interface ServiceFailure {
  readonly times: number;
  readonly example: string;
}

/** Exceptions in the logs of a Nova's own services. */
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

/** Whether real nova-computes would have made it raise this, too. */
export function isUsual(failure: string): boolean {
  const name = failure.slice(failure.indexOf(": ") + 2);
  return USUAL.test(name) || OF_THE_BROKER.test(name);
}
