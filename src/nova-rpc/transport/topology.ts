import type { NovaConfig } from "../../config/nova-config.js";
import type { Exchange, Queue, Subscription } from "../../runtime/message-broker.js";
import type { ReleaseProfile } from "../objects/profile.js";

/** `[oslo_messaging_rabbit]`. */
export type RabbitOptions = NovaConfig["osloMessagingRabbit"];

/** Where requests go (`control_exchange`). */
export const REQUESTS = "nova";

/** What to do where an exchange or a queue is there with other properties. */
export const HOW_TO_AGREE =
  "set amqp_durable_queues, rabbit_quorum_queue and their like in [oslo_messaging_rabbit] as Nova's other services have them";

/** The queue that only the connection of a host's agent can have. */
export const leaseQueue = (host: string): string => `compute-agent.lease.${host}`;

/**
 * The exchanges and queues of oslo.messaging, declared with the properties that the other services of the same Nova declare them
 * with: the broker refuses whoever comes second with others.
 */
export class Topology {
  readonly #options: RabbitOptions;

  constructor(options: RabbitOptions) {
    this.#options = options;
  }

  /** What conductors, schedulers and computes are asked through. */
  requests(): Exchange {
    return { name: REQUESTS, type: "topic", durable: this.#isDurable(), autoDelete: this.#options.amqpAutoDelete };
  }

  /** The exchange that brings a message to all servers of a topic. */
  fanout(topic: string): Exchange {
    const durable = this.#options.rabbitTransientQuorumQueue;
    return { name: `${topic}_fanout`, type: "fanout", durable, autoDelete: !durable };
  }

  /** The requests to a topic (`compute`), or to one host of it (`compute.host`). */
  server(topic: string, { exclusive }: { readonly exclusive: boolean }): Subscription {
    const queue: Queue = {
      name: topic,
      durable: this.#isDurable(),
      autoDelete: this.#options.amqpAutoDelete,
      exclusive: false,
      arguments: { ...this.#mirrored(), ...(this.#options.rabbitQuorumQueue ? this.#quorum() : {}) },
    };
    const bindings = [{ exchange: REQUESTS, routingKey: topic }];
    // A quorum queue has no exclusive consumers.
    return { queue, exchanges: [this.requests()], bindings, exclusive: exclusive && !this.#options.rabbitQuorumQueue };
  }

  /** @param id 32 hexadecimal digits */
  fanoutServer(topic: string, id: string): Subscription {
    const exchange = this.fanout(topic);
    const bindings = [{ exchange: exchange.name, routingKey: topic }];
    return { queue: this.#transient(`${exchange.name}_${id}`), exchanges: [exchange], bindings, exclusive: false };
  }

  /** The answers to this process's calls. @param options `lasting`: the queue outlives the connection; default true */
  replies(name: string, { lasting = true }: { readonly lasting?: boolean } = {}): Subscription {
    const queue = lasting ? this.#transient(name) : ownQueue(name);
    return { queue, exchanges: [], bindings: [], exclusive: false };
  }

  /** A queue that only its holder's connection can have. */
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

/** Its connection's alone, and gone with it. */
function ownQueue(name: string): Queue {
  return { name, durable: false, autoDelete: false, exclusive: true, arguments: {} };
}

/** The topic of every request to a nova-compute; a queue each for the topic, its fan-out and `compute.<host>`. */
export const COMPUTE_TOPIC = "compute";

/** The topic that a nova-compute of RPC 6.5 or later (2026.1) also reads, and reads until its shutdown is over. */
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

/** Whether a nova-compute of the release reads {@link ALTERNATE_TOPIC}. */
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
