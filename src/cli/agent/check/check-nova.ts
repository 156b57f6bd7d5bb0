import { type CheckPart, failedPart, part } from "../../../agent/check/check-part.js";
import type { NovaConfig } from "../../../config/nova-config.js";
import { connectToNova, type NovaConnection, type NovaConnectOptions } from "../../../nova-rpc/connect-to-nova.js";
import { readQueue } from "../../../nova-rpc/host-lease.js";
import { NEWEST_PROFILE, OLDEST_PROFILE } from "../../../nova-rpc/objects/profile.js";
import {
  ALTERNATE_TOPIC,
  COMPUTE_TOPIC,
  HOW_TO_AGREE,
  hasAlternateTopic,
  hostQueue,
  leaseQueue,
  Topology,
} from "../../../nova-rpc/transport/topology.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import { type BrokerAddress, BrokerRejectedError, type MessageBroker } from "../../../runtime/message-broker.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { within } from "../../../runtime/time.js";
import { brokerAddress } from "../connect-nova.js";
import type { CheckLimits, ControlPlane } from "./control-plane.js";

/** The result of logging in at one host of a broker. */
interface BrokerFound {
  /** `host:port` */
  readonly place: string;
  /** The reason why the broker cannot be used; null if the login succeeded. */
  readonly reason: string | null;
  /** AMQP's name of the rejection; null if there was none. */
  readonly rejection: string | null;
}

const CONDUCTOR = "conductor";

const PIN_COMPUTE_RPC =
  "upgrade all nova-conductors, and this agent; until then set [upgrade_levels] compute = flamingo for nova-api, nova-conductor and all nova-computes";

const START_CONDUCTOR = "start nova-conductor; if it runs, its transport_url must lead to this broker and virtual host";

/**
 * Checks the broker and conductor of a real Nova. Declares nothing that is missing; what it uses is removed with the
 * connection.
 */
export async function checkNova(
  config: NovaConfig,
  transportUrl: string,
  runtime: Runtime,
  connectToBroker: NovaConnectOptions["connectToBroker"],
  { limit, signal }: CheckLimits,
): Promise<ControlPlane> {
  const address = await brokerAddress(config, transportUrl, runtime);
  const probes = await Promise.all(
    address.hosts.map((host) => probeHost({ ...address, hosts: [host] }, runtime, connectToBroker, { limit, signal })),
  );
  const broker = evaluateBroker(address, probes);
  const reachableHosts = address.hosts.filter((_host, at) => probes[at]?.reason === null);
  if (reachableHosts.length === 0) {
    return { parts: [broker, part("conductor", "unknown", "needs the broker")], met: null, close: async () => {} };
  }
  const nova = openNova(config, { ...address, hosts: reachableHosts }, runtime, connectToBroker);
  const close = async () => {
    await within(runtime.timers, limit, "the broker", nova.connection.close()).catch(() => {});
  };
  try {
    const look = new NovaLook(config, nova, runtime, { limit, signal });
    return { ...(await look.take(broker, probes)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenNova {
  readonly connection: NovaConnection;
  readonly broker: MessageBroker;
}

function openNova(
  config: NovaConfig,
  address: BrokerAddress,
  runtime: Runtime,
  connect: NovaConnectOptions["connectToBroker"],
): OpenNova {
  const brokers: MessageBroker[] = [];
  const connection = connectToNova({
    address,
    rabbit: config.osloMessagingRabbit,
    runtime,
    connectToBroker: (options) => {
      const broker = connect(options);
      brokers.push(broker);
      return broker;
    },
    lookOnly: true,
  });
  const [broker] = brokers;
  if (broker === undefined) {
    throw new Error("no broker was connected to");
  }
  return { connection, broker };
}

/** Checks what is reachable through a connected broker. */
class NovaLook {
  readonly #config: NovaConfig;
  readonly #nova: OpenNova;
  readonly #runtime: Runtime;
  readonly #limits: CheckLimits;

  constructor(config: NovaConfig, nova: OpenNova, runtime: Runtime, limits: CheckLimits) {
    this.#config = config;
    this.#nova = nova;
    this.#runtime = runtime;
    this.#limits = limits;
  }

  async take(found: CheckPart, probes: readonly BrokerFound[]): Promise<Omit<ControlPlane, "close">> {
    const broker = (await this.#compareTopology(probes)) ?? found;
    const conductor = await this.#lookAtConductor().catch((error: unknown) => {
      this.#limits.signal.throwIfAborted();
      return failedPart("conductor", error, START_CONDUCTOR);
    });
    const parts = [broker, conductor];
    if (conductor.state !== "ok") {
      return { parts, met: null };
    }
    const { connection } = this.#nova;
    const { host } = this.#config.defaults;
    const met = {
      session: connection.host(host, { lease: false }),
      serviceVersion: connection.serviceVersion,
      newHost: "after the start: nova-manage cell_v2 discover_hosts",
      lease: () => this.#lookAtLease(),
    };
    return { parts, met };
  }

  /** Compares existing exchanges and queues with those that this agent would declare. Returns null if they match. */
  async #compareTopology(probes: readonly BrokerFound[]): Promise<CheckPart | null> {
    const { broker } = this.#nova;
    const topology = new Topology(this.#config.osloMessagingRabbit);
    const topics = [COMPUTE_TOPIC, ALTERNATE_TOPIC];
    const queues = topics.flatMap((topic) => [topic, hostQueue(topic, this.#config.defaults.host)]);
    const compare = async () => {
      await broker.connected();
      await broker.hasExchange(topology.requests());
      for (const queue of queues) {
        await broker.hasQueue(topology.server(queue, { exclusive: false }).queue);
      }
    };
    try {
      await this.#inTime("the broker", compare());
      return null;
    } catch (error) {
      this.#limits.signal.throwIfAborted();
      const isOther = error instanceof BrokerRejectedError && error.code === "PRECONDITION_FAILED";
      const hint = isOther ? HOW_TO_AGREE : "";
      const where = probes.length === 1 ? "" : ` (${probes.length} hosts)`;
      return { ...failedPart("broker", error, hint), found: `${errorMessage(error)}${where}` };
    }
  }

  async #lookAtConductor(): Promise<CheckPart> {
    const { connection, broker } = this.#nova;
    const readers = await this.#inTime("the broker", broker.consumersOf(CONDUCTOR));
    if (readers === null || readers === 0) {
      const found =
        readers === null ? "there is no queue conductor in this virtual host" : "the queue conductor has no consumer";
      return part("conductor", "waits", found, START_CONDUCTOR);
    }
    await this.#inTime(`nova-conductor (${readers} readers of its queue)`, connection.connected());
    const session = connection.host(this.#config.defaults.host, { lease: false });
    const version = await this.#inTime(
      "nova-conductor",
      session.call("service_minimum_version", { binary: "nova-conductor" }),
    );
    const { release, serviceVersion, oldestServiceVersion, computeRpcMinor, objects } = connection.profile;
    if (version < OLDEST_PROFILE.serviceVersion) {
      const found = `service version ${version} is older than ${OLDEST_PROFILE.release}'s ${OLDEST_PROFILE.serviceVersion}`;
      return part(
        "conductor",
        "fails",
        found,
        `the agent works with Nova from ${OLDEST_PROFILE.release} on: upgrade it`,
      );
    }
    const found = `service version ${version}: the agent is a nova-compute of ${release} (version ${serviceVersion}, compute RPC 6.${computeRpcMinor}, Instance ${objects.get("Instance")})`;
    const oldest = await this.#inTime(
      "nova-conductor",
      session.call("service_minimum_version", { binary: "nova-compute" }),
    );
    const unserved = await this.#unservedTopics(version);
    if (unserved !== null) {
      return part("conductor", "note", `${found}; ${unserved}`, PIN_COMPUTE_RPC);
    }
    const mixed = this.#config.workarounds.disableComputeServiceCheckForFfu;
    return oldest === 0 || oldest >= oldestServiceVersion || mixed
      ? part("conductor", "ok", found)
      : part(
          "conductor",
          "note",
          `${found}; the oldest nova-compute has version ${oldest}, and neither nova-api nor nova-conductor of ${release} starts again beside one older than ${oldestServiceVersion}`,
          "upgrade that nova-compute, or delete its service",
        );
  }

  /**
   * Returns why Nova may send requests to a topic that the agent does not read; null if it reads all topics of this release.
   */
  async #unservedTopics(conductorVersion: number): Promise<string | null> {
    const { connection, broker } = this.#nova;
    if (conductorVersion > NEWEST_PROFILE.serviceVersion) {
      const { release, serviceVersion } = NEWEST_PROFILE;
      return `Nova is newer than ${release} (version ${serviceVersion}), the newest release that this agent knows; it reads the topics ${COMPUTE_TOPIC} and ${ALTERNATE_TOPIC}, and a request to another topic is lost`;
    }
    if (hasAlternateTopic(connection.profile)) {
      return null;
    }
    const readers = await this.#inTime("the broker", broker.consumersOf(ALTERNATE_TOPIC));
    return readers === null || readers === 0
      ? null
      : `nova-computes of 2026.1 or later read topic ${ALTERNATE_TOPIC}, which a nova-compute of ${connection.profile.release} does not read; a request to it is lost`;
  }

  async #lookAtLease(): Promise<CheckPart> {
    const { broker } = this.#nova;
    const { defaults, workarounds, osloMessagingRabbit: rabbit } = this.#config;
    const { host } = defaults;
    if (workarounds.upstreamQuirks.has("no-host-lease")) {
      return part("lease", "note", "disabled by [workarounds] upstream_quirks");
    }
    const queue = await this.#inTime("the broker", readQueue(broker, host));
    const wait = `a start waits ${rabbit.heartbeatTimeoutThreshold} s for a dead connection to be closed, and is then rejected`;
    try {
      await this.#inTime("the broker", broker.consumersOf(leaseQueue(host)));
    } catch (error) {
      if (!(error instanceof BrokerRejectedError) || error.code !== "RESOURCE_LOCKED") {
        throw error;
      }
      const hint = `${wait}; rabbitmqctl list_queues name owner_pid shows the connection that owns it`;
      return part("lease", "fails", `another compute-agent has queue ${leaseQueue(host)}`, hint);
    }
    if (queue !== null) {
      const hint = `stop nova-compute of host ${host}, or take another --host; ${wait}`;
      return part("lease", "fails", `a real nova-compute reads queue ${queue}`, hint);
    }
    return part("lease", "ok", `free; there is no consumer of ${hostQueue(COMPUTE_TOPIC, host)}`);
  }

  #inTime<T>(what: string, work: Promise<T>): Promise<T> {
    const { limit, signal } = this.#limits;
    return within(this.#runtime.timers, limit, what, work, signal);
  }
}

/** Logs in at one host of the broker and disconnects. */
async function probeHost(
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
    const reason = errorMessage(error);
    return { place, reason, rejection: error instanceof BrokerRejectedError ? error.code : null };
  } finally {
    void broker.close().catch(() => {});
  }
}

/** Resolves once connected; rejects with the reason if the first attempt fails. */
function awaitConnection(broker: MessageBroker): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => {
    broker.onState((state, detail) => {
      if (state === "waiting") {
        // If the broker rejects the login, connected() rejects right after this, and its error must win the race.
        void Promise.resolve().then(() => reject(new Error(detail)));
      }
    });
  });
  return Promise.race([broker.connected(), failed]);
}

function evaluateBroker({ username, virtualHost, tls }: BrokerAddress, probes: readonly BrokerFound[]): CheckPart {
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
      : part("broker", "note", `${found}; ${reasons}`, "a start uses those that respond");
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
