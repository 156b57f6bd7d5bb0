/** Something that must not be. */
export interface Violation {
  /** What it is about: a server, a consumer, a host. After the first violation nothing more is said of it. */
  readonly subject: string;
  readonly what: string;
}
