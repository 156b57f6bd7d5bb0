import { md5 } from "../../src/virt/index.js";

/** Points of each host on the ring. */
const PARTITIONS = 32;

/** Which host has which node, as tooz's HashRing says. Hosts are compared in lower case. */
export class HashRing {
  readonly #points: readonly (readonly [point: string, host: string])[];

  constructor(hosts: Iterable<string>) {
    const members = new Set([...hosts].map((host) => host.toLowerCase()));
    this.#points = [...members]
      .flatMap((host) =>
        Array.from({ length: PARTITIONS }, (_, at): readonly [string, string] => [md5(host.repeat(at + 2)), host]),
      )
      // Equal lengths: as texts they sort as numbers.
      .sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** Undefined: the ring is empty. */
  ownerOf(node: string): string | undefined {
    const hash = md5(node);
    let low = 0;
    let high = this.#points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#points[middle]?.[0] ?? "") > hash) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return (this.#points[low] ?? this.#points[0])?.[1];
  }
}
