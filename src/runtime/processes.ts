/** What a process may ask of its machine. */
export interface Processes {
  readonly pid: number;
  /** Tells machines and their boots apart; two processes with equal values can see each other's pids. */
  readonly machine: string;
  readonly hostname: string;
  isAlive(pid: number): boolean;
}
