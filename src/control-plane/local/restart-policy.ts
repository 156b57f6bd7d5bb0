import { backOff } from "../../runtime/retry.js";
import type { ComponentEnd } from "./component.js";

/** Exit codes with which a program of this package says that it ended on purpose: the README lists them. */
const FORESEEN: readonly (number | null)[] = [0, 2, 3, 4, 5];

/** Signals by which a person ends a process; any other end is a crash. */
const MEANT: readonly (string | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/** Quick restarts of the control plane, after which it is left alone. */
const RESTARTS = 5;

const agentDelay = backOff({ first: 1_000, most: 60_000 });

/**
 * An agent that failed unforeseen starts again, later each time; an agent that a person killed stays down: it is a
 * drill.
 */
export function agentRestart({ code, signal, times }: ComponentEnd): number | null {
  const isMeant = signal === null ? FORESEEN.includes(code) : MEANT.includes(signal);
  return isMeant ? null : agentDelay(times);
}

/** The control plane starts again at once, whatever ended it, unless it refuses to start. */
export function controlPlaneRestart({ code, signal, wasReady, times }: ComponentEnd): number | null {
  const isExpectedExit = signal === null && FORESEEN.includes(code);
  return wasReady && !isExpectedExit && times <= RESTARTS ? 0 : null;
}
