/** What the programs' exit codes mean; the README lists them. */
export const ExitCode = {
  ok: 0,
  /** Something failed that was not foreseen; the message says what. */
  failure: 1,
  /** Wrong arguments or configuration. */
  usage: 2,
  /** The agent refused to start: records contradict each other. */
  rejected: 3,
  /** No control plane, or it refused the join token. */
  unreachable: 4,
  /** Another agent has taken the host. */
  leaseLost: 5,
} as const;
