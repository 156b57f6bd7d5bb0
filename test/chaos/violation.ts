/** A violated condition. */
export interface Violation {
  /** A server, consumer or host. Only the first violation of a subject is reported. */
  readonly subject: string;
  readonly what: string;
}
