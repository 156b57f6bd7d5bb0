import { option, unset } from "../option.js";
import { boolean, integer, text } from "../value-type.js";

/** `[oslo_messaging_rabbit]`: use of a real Nova's RabbitMQ. Must be the same as in that Nova's other services. */
export const RABBIT_OPTIONS = {
  amqp_durable_queues: option(
    boolean,
    false,
    "Whether the exchange and the queues of requests survive a restart of the broker.",
  ),
  amqp_auto_delete: option(boolean, false, "Whether the broker removes a queue with its last consumer."),
  rabbit_quorum_queue: option(boolean, false, "Whether queues of requests are quorum queues."),
  rabbit_quorum_delivery_limit: option(
    integer({ min: 0 }),
    0,
    "Maximum number of deliveries of a message by a quorum queue. 0 means no limit.",
  ),
  rabbit_quorum_max_memory_length: option(
    integer({ min: 0 }),
    0,
    "Maximum number of messages of a quorum queue in memory. 0 means no limit.",
  ),
  rabbit_quorum_max_memory_bytes: option(
    integer({ min: 0 }),
    0,
    "Maximum number of bytes of a quorum queue in memory. 0 means no limit.",
  ),
  rabbit_transient_quorum_queue: option(
    boolean,
    false,
    "Whether queues of replies and of fanout messages are quorum queues.",
  ),
  rabbit_transient_queues_ttl: option(
    integer({ min: 0 }),
    1800,
    "Seconds after which the broker removes an unused queue of replies. 0 means never.",
  ),
  rabbit_ha_queues: option(boolean, false, "Whether queues are mirrored (RabbitMQ before 3.0)."),
  heartbeat_timeout_threshold: option(
    integer({ min: 0 }),
    60,
    "Seconds without a heartbeat after which the connection counts as lost. 0 uses the value of the broker.",
  ),
  rabbit_retry_interval: option(
    integer({ min: 1 }),
    1,
    "Seconds from the loss of the connection to the first attempt to reconnect.",
  ),
  rabbit_interval_max: option(
    integer({ min: 1 }),
    30,
    "Maximum number of seconds between two attempts to reconnect. Values greater than 5 count as 5, unless " +
      "rabbit_retry_interval is greater.",
  ),
  ssl: option(boolean, false, "Whether the agent connects with TLS."),
  ssl_ca_file: option(
    text,
    "",
    "PEM file with the CA certificates that verify the broker. Unset: the broker is not verified.",
  ),
  ssl_cert_file: option(text, "", "PEM file with the agent's certificate."),
  ssl_key_file: option(text, "", "PEM file with the private key of the agent's certificate."),
  ssl_enforce_hostname_verification: option(
    boolean,
    false,
    "Whether the broker's certificate must contain its host name.",
  ),
};

export const TRANSPORT_URL = unset(
  text,
  "RabbitMQ of a real Nova: rabbit://user:password@host:port/. The agent then joins that Nova. Unset: the agent joins a " +
    "control plane of compute-agent.",
  { secret: true },
);
