import { option, unset } from "../option.js";
import { boolean, integer, text } from "../value-type.js";

/** `[oslo_messaging_rabbit]`: use of a real Nova's RabbitMQ. Must be the same as in that Nova's other services. */
export const RABBIT_OPTIONS = {
  amqp_durable_queues: option(
    boolean,
    false,
    "The exchange of requests and their queues survive a restart of the broker.",
  ),
  amqp_auto_delete: option(boolean, false, "Queues go with their last consumer."),
  rabbit_quorum_queue: option(boolean, false, "Queues of requests are quorum queues."),
  rabbit_quorum_delivery_limit: option(
    integer({ min: 0 }),
    0,
    "How often a quorum queue delivers a message; 0 for any number.",
  ),
  rabbit_quorum_max_memory_length: option(
    integer({ min: 0 }),
    0,
    "Messages of a quorum queue in memory; 0 for any number.",
  ),
  rabbit_quorum_max_memory_bytes: option(
    integer({ min: 0 }),
    0,
    "Bytes of a quorum queue in memory; 0 for any number.",
  ),
  rabbit_transient_quorum_queue: option(
    boolean,
    false,
    "Queues of replies and of what all computes get are quorum queues, too.",
  ),
  rabbit_transient_queues_ttl: option(
    integer({ min: 0 }),
    1800,
    "Seconds after which the broker removes a queue of replies that nobody reads; 0 never.",
  ),
  rabbit_ha_queues: option(boolean, false, "Queues are mirrored (RabbitMQ before 3.0)."),
  heartbeat_timeout_threshold: option(
    integer({ min: 0 }),
    60,
    "Seconds without a sign of life after which the connection counts as lost; 0 never.",
  ),
  rabbit_retry_interval: option(
    integer({ min: 1 }),
    1,
    "Seconds from a lost connection to the first try to connect again.",
  ),
  rabbit_interval_max: option(
    integer({ min: 1 }),
    30,
    "Seconds between two tries at most; more than 5 only if rabbit_retry_interval is more.",
  ),
  ssl: option(boolean, false, "Connect with TLS."),
  ssl_ca_file: option(text, "", "Certificates that the broker's is checked against; unset checks nothing."),
  ssl_cert_file: option(text, "", "This agent's certificate."),
  ssl_key_file: option(text, "", "Its key."),
  ssl_enforce_hostname_verification: option(boolean, false, "Whether the broker's certificate must name its host."),
};

export const TRANSPORT_URL = unset(
  text,
  "A real Nova's RabbitMQ, rabbit://user:password@host:port/: the agent is a nova-compute of that Nova. Unset: of compute-cluster's.",
  { secret: true },
);
