/** A command of the peer's shell library. It loses the content of the broker's transient queues. */
export const KILL_BROKER = 'kill -KILL -- "-$(cat "$STATE/run/rabbit.pid")"';
/**
 * Restarts the Compute API as well. An idle process of it would not notice that its connection is dead, and would lose
 * its next request on it.
 */
export const RESTART_API = "stop nova-api KILL; API_PROCESSES=2 spawnapi";
/** Ends when the broker responds and the conductor consumes its queue again. */
export const START_BROKER =
  '( rabbitenv; cd "$STATE/rabbit"; spawn rabbit /usr/lib/rabbitmq/bin/rabbitmq-server ); ' +
  "for _ in 1 2 3 4 5 6; do waitport 5672 2>/dev/null && break; done; " +
  "for _ in $(seq 60); do rabbitctl list_queues name consumers 2>/dev/null | grep -qE '^conductor[[:space:]]+[1-9]' && break; sleep 0.5; done";
