import type { NovaConfig } from "../../config/nova-config.js";
import type { Exchange, Queue, Subscription } from "../../runtime/message-broker.js";
import type { ReleaseProfile } from "../objects/profile.js";

/** `[oslo_messaging_rabbit]`. */
export type RabbitOptions = NovaConfig["osloMessagingRabbit"];

/** The exchange for requests (`control_exchange`). */
export const REQUESTS = "nova";

/** The hint for an exchange or queue that exists with other properties. */
export const HOW_TO_AGREE =
  "set amqp_durable_queues, rabbit_quorum_queue and similar options in [oslo_messaging_rabbit] to the values of Nova's other services";

/** Returns the name of the queue that is exclusive to the connection of a host's agent. */
export const leaseQueue = (host: string): string => `compute-agent.lease.${host}`;

/**
 * The exchanges and queues of oslo.messaging, with the properties that the other services of the same Nova use: the broker
 * rejects a declaration with other properties.
 */
export class Topology {
  readonly #options: RabbitOptions;

  constructor(options: RabbitOptions) {
    this.#options = options;
  }

  /** Returns the exchange for requests to conductors, schedulers and computes. */
  requests(): Exchange {
    return { name: REQUESTS, type: "topic", durable: this.#isDurable(), autoDelete: this.#options.amqpAutoDelete };
  }

  /** Returns the exchange that delivers a message to all servers of a topic. */
  fanout(topic: string): Exchange {
    const durable = this.#options.rabbitTransientQuorumQueue;
    return { name: `${topic}_fanout`, type: "fanout", durable, autoDelete: !durable };
  }

  /** Returns the queue of a topic (`compute`), or of one host of it (`compute.host`). */
  server(topic: string, { exclusive }: { readonly exclusive: boolean }): Subscription {
    const queue: Queue = {
      name: topic,
      durable: this.#isDurable(),
      autoDelete: this.#options.amqpAutoDelete,
      exclusive: false,
      arguments: { ...this.#mirrored(), ...(this.#options.rabbitQuorumQueue ? this.#quorum() : {}) },
    };
    const bindings = [{ exchange: REQUESTS, routingKey: topic }];
    // A quorum queue cannot have exclusive consumers.
    return { queue, exchanges: [this.requests()], bindings, exclusive: exclusive && !this.#options.rabbitQuorumQueue };
  }

  /** @param id 32 hexadecimal digits */
  fanoutServer(topic: string, id: string): Subscription {
    const exchange = this.fanout(topic);
    const bindings = [{ exchange: exchange.name, routingKey: topic }];
    return { queue: this.#transient(`${exchange.name}_${id}`), exchanges: [exchange], bindings, exclusive: false };
  }

  /**
   * Returns the queue for replies to this process. @param options `lasting`: the queue outlives the connection; default true
   */
  replies(name: string, { lasting = true }: { readonly lasting?: boolean } = {}): Subscription {
    const queue = lasting ? this.#transient(name) : ownQueue(name);
    return { queue, exchanges: [], bindings: [], exclusive: false };
  }

  /** Returns a queue that is exclusive to the lease owner's connection. */
  lease(host: string): Subscription {
    return { queue: ownQueue(leaseQueue(host)), exchanges: [], bindings: [], exclusive: false };
  }

  #isDurable(): boolean {
    return this.#options.amqpDurableQueues || this.#options.rabbitQuorumQueue;
  }

  #transient(name: string): Queue {
    const { rabbitTransientQuorumQueue: quorum, rabbitTransientQueuesTtl: ttl } = this.#options;
    return {
      name,
      durable: quorum,
      autoDelete: false,
      exclusive: false,
      arguments: {
        ...this.#mirrored(),
        ...(quorum ? this.#quorum() : {}),
        ...(ttl > 0 ? { "x-expires": ttl * 1000 } : {}),
      },
    };
  }

  #mirrored(): Readonly<Record<string, string>> {
    return this.#options.rabbitHaQueues ? { "x-ha-policy": "all" } : {};
  }

  #quorum(): Readonly<Record<string, string | number>> {
    const { rabbitQuorumDeliveryLimit, rabbitQuorumMaxMemoryLength, rabbitQuorumMaxMemoryBytes } = this.#options;
    return {
      "x-queue-type": "quorum",
      ...(rabbitQuorumDeliveryLimit > 0 ? { "x-delivery-limit": rabbitQuorumDeliveryLimit } : {}),
      ...(rabbitQuorumMaxMemoryLength > 0 ? { "x-max-in-memory-length": rabbitQuorumMaxMemoryLength } : {}),
      ...(rabbitQuorumMaxMemoryBytes > 0 ? { "x-max-in-memory-bytes": rabbitQuorumMaxMemoryBytes } : {}),
    };
  }
}

/** Returns a queue that is exclusive to its connection and deleted with it. */
function ownQueue(name: string): Queue {
  return { name, durable: false, autoDelete: false, exclusive: true, arguments: {} };
}

/** The topic of every request to a nova-compute. It has a queue for the topic, one for its fanout, and `compute.<host>`. */
export const COMPUTE_TOPIC = "compute";

/** The topic that a nova-compute of RPC 6.5 or later (2026.1) also reads, until its shutdown has ended. */
export const ALTERNATE_TOPIC = "compute-alt";

/** The first service version whose nova-computes read {@link ALTERNATE_TOPIC}. */
export const ALTERNATE_TOPIC_SERVICE_VERSION = 71;

/** Methods that continue or end an operation, which compute RPC 6.5 sends to {@link ALTERNATE_TOPIC}. */
const ALTERNATE_METHODS: ReadonlySet<string> = new Set([
  "check_instance_shared_storage",
  "drop_move_claim_at_destination",
  "external_instance_event",
  "finish_resize",
  "finish_revert_resize",
  "finish_revert_snapshot_based_resize_at_source",
  "finish_snapshot_based_resize_at_dest",
  "live_migration",
  "post_live_migration_at_destination",
  "pre_live_migration",
  "prep_snapshot_based_resize_at_source",
  "remove_volume_connection",
  "resize_instance",
  "rollback_live_migration_at_destination",
  "validate_console_port",
]);

/** Returns whether a nova-compute of the release reads {@link ALTERNATE_TOPIC}. */
export function hasAlternateTopic({ computeRpcMinor }: ReleaseProfile): boolean {
  return computeRpcMinor >= 5;
}

/** Returns the topic to which compute RPC 6.5 sends the method. */
export function topicOfMethod(method: string): typeof COMPUTE_TOPIC | typeof ALTERNATE_TOPIC {
  return ALTERNATE_METHODS.has(method) ? ALTERNATE_TOPIC : COMPUTE_TOPIC;
}

/** Returns the queue that only the nova-compute of the host reads. */
export function hostQueue(topic: string, host: string): string {
  return `${topic}.${host}`;
}
