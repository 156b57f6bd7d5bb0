/** Randomness. The virtual implementation draws all of it from one seed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [low, high], both included. */
  integer(low: number, high: number): number;
  /** A version 4 UUID, lower case with hyphens. */
  uuid(): string;
  /** `bytes` random bytes as lower-case hex. For tokens and passwords the node implementation is cryptographically strong. */
  hex(bytes: number): string;
}
