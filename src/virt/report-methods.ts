import type { CallOptions, GuestDiagnostics, Instance } from "./types.js";

/**
 * What people ask of a host and of its guests (spec 8.14). None of these changes anything, all are called without a lock, and each may be
 * left out: NotImplemented, and the API answers 501.
 */
export interface ReportMethods {
  /**
   * How long the host is up, as `uptime` prints it: ` 12:34:56 up 3 days, 2:01, 1 user, load average: 0.05, 0.03, 0.00`.
   * @calledBy the API, for a hypervisor and in the list of them (since 2.88). No lock.
   */
  getHostUptime?(options?: CallOptions): Promise<string>;
  /**
   * What the guest has written to its console, oldest first; nothing yet is an empty text. The last 100 KiB are used.
   * @throws {GuestNotFound}
   * @calledBy the API's action os-getConsoleOutput. No lock.
   */
  getConsoleOutput?(instance: Instance, options?: CallOptions): Promise<string>;
  /**
   * Counters of a guest that runs, by names of the driver's own: `cpu0_time`, `vda_read_req`, `memory`. @throws
   * {GuestNotFound}
   * @calledBy the API, for diagnostics before 2.48. No lock.
   */
  getDiagnostics?(instance: Instance, options?: CallOptions): Promise<Readonly<Record<string, number | string>>>;
  /**
   * The same in the form that all drivers share. @throws {GuestNotFound}
   * @calledBy the API, for diagnostics since 2.48. No lock.
   */
  getInstanceDiagnostics?(instance: Instance, options?: CallOptions): Promise<GuestDiagnostics>;
}
