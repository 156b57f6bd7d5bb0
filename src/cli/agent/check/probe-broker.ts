import { type CheckPart, part } from "../../../agent/check/check-part.js";
import type { NovaConnectOptions } from "../../../nova-rpc/connect-to-nova.js";
import { type BrokerAddress, BrokerRejectedError, type MessageBroker } from "../../../runtime/message-broker.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { within } from "../../../runtime/time.js";
import type { CheckLimits } from "./control-plane.js";

/** What one host of a broker answered. */
export interface BrokerFound {
  /** `host:port` */
  readonly place: string;
  /** Why it cannot be used; null: it lets in. */
  readonly reason: string | null;
  /** AMQP's name of a refusal; null: there was none. */
  readonly rejection: string | null;
}

/** Logs in at one host, and out again. */
export async function probeHost(
  address: BrokerAddress,
  { timers, random, processes }: Pick<Runtime, "timers" | "random" | "processes">,
  connectToBroker: NovaConnectOptions["connectToBroker"],
  { limit, signal }: CheckLimits,
): Promise<BrokerFound> {
  const place = address.hosts.map(({ hostname, port }) => `${hostname}:${port}`).join();
  const broker = connectToBroker({
    address,
    connectionName: `compute-agent --check:${processes.pid}:${random.uuid()}`,
    heartbeat: 60,
    retry: { first: limit, most: limit },
  });
  try {
    await within(timers, limit, place, awaitConnection(broker), signal);
    return { place, reason: null, rejection: null };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    return { place, reason, rejection: error instanceof BrokerRejectedError ? error.code : null };
  } finally {
    void broker.close().catch(() => {});
  }
}

/** Connected, or the reason why the first try failed. */
function awaitConnection(broker: MessageBroker): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => {
    broker.onState((state, detail) => {
      if (state === "waiting") {
        // A refusal is told by connected(), right after this.
        void Promise.resolve().then(() => reject(new Error(detail)));
      }
    });
  });
  return Promise.race([broker.connected(), failed]);
}

export function evaluateBroker(
  { username, virtualHost, tls }: BrokerAddress,
  probes: readonly BrokerFound[],
): CheckPart {
  const up = probes.filter(({ reason }) => reason === null).map(({ place }) => place);
  const down = probes.filter(({ reason }) => reason !== null);
  const reasons = down
    .map(({ place, reason }) => (reason?.includes(place) ? reason : `${place}: ${reason}`))
    .join("; ");
  if (up.length > 0) {
    const security = tls === null ? "without TLS" : tls.ca === null ? "TLS, certificate not checked" : "TLS";
    const found = `${up.join(", ")} ${up.length === 1 ? "answers" : "answer"}, virtual host ${virtualHost}, ${security}`;
    return down.length === 0
      ? part("broker", "ok", found)
      : part("broker", "note", `${found}; ${reasons}`, "a start uses those that answer");
  }
  const rejection = down.find((each) => each.rejection !== null)?.rejection;
  switch (rejection) {
    case "ACCESS_REFUSED":
      return part("broker", "fails", reasons, `check user ${username} and its password in [DEFAULT] transport_url`);
    case "NOT_ALLOWED":
      return part(
        "broker",
        "fails",
        reasons,
        `check virtual host ${virtualHost} in transport_url, and that user ${username} may use it (rabbitmqctl list_permissions)`,
      );
    default:
      return part("broker", "waits", reasons, "start RabbitMQ, or correct [DEFAULT] transport_url");
  }
}
