import { readFile } from "node:fs/promises";
import { join } from "node:path";

const LOGS = ["nova-conductor", "nova-scheduler", "nova-api", "placement"];

/** The last line of a traceback: its exception, as oslo.log and Python write it. */
const RAISED = / (?:ERROR|CRITICAL) \S+ (?<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::|$)/;
/** A move that the conductor gives up because nobody answered it, or a compute that it has asked, is that, and no failure of its own. */
const UNANSWERED = /Exception_Remote: .* was not answered in \d+ s|\.MigrationError: .*Timed out waiting for a reply/;
/** So is a move of what a server holds that holds nothing any more, as it was deleted meanwhile: a conductor looks for its project there. */
const HOLDS_NOTHING = /KeyError: 'project_id'$/;

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

/** Exceptions in the logs of a Nova's own services, with how often each was raised. */
export async function failuresOfServices(state: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const service of LOGS) {
    const log = await readFile(join(state, "log", `${service}.log`), "utf8").catch(() => "");
    for (const line of log.split("\n")) {
      const name = RAISED.exec(line)?.groups?.name;
      if (name !== undefined && name !== "Traceback" && !UNANSWERED.test(line) && !HOLDS_NOTHING.test(line)) {
        const what = `${service}: ${name}`;
        counts.set(what, (counts.get(what) ?? 0) + 1);
      }
    }
  }
  return counts;
}

/** Whether real nova-computes would have made it raise this, too. */
export function isUsual(failure: string): boolean {
  const name = failure.slice(failure.indexOf(": ") + 2);
  return USUAL.test(name) || OF_THE_BROKER.test(name);
}
