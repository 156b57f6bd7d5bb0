/** What a process may ask of its machine. */
export interface Processes {
  readonly pid: number;
  /**
   * Tells machines, their boots and their PID namespaces apart, as containers have them: only two processes with equal
   * values mean the same process by a pid.
   */
  readonly machine: string;
  readonly hostname: string;
  /** A pid of this process's own {@link machine}. */
  isAlive(pid: number): boolean;
}
