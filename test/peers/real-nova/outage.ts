/** Commands of the peer's shell library. What was in the broker's transient queues is gone. */
export const KILL_BROKER = 'kill -KILL -- "-$(cat "$STATE/run/rabbit.pid")"';
/**
 * The Compute API, too, is started again: a process of it that was doing nothing meanwhile does not know that its connection is a
 * dead one, and gives it the next request, which nobody gets.
 */
export const RESTART_API = "stop nova-api KILL; API_PROCESSES=2 spawnapi";
/** Ends when the broker answers, and the conductor is back at its queue. */
export const START_BROKER =
  '( rabbitenv; cd "$STATE/rabbit"; spawn rabbit /usr/lib/rabbitmq/bin/rabbitmq-server ); ' +
  "for _ in 1 2 3 4 5 6; do waitport 5672 2>/dev/null && break; done; " +
  "for _ in $(seq 60); do rabbitctl list_queues name consumers 2>/dev/null | grep -qE '^conductor[[:space:]]+[1-9]' && break; sleep 0.5; done";
