import type { IpRange } from "./ranges.js";

/** Up to this size, an IPv6 pool has a bitmap. An IPv4 pool always has one. */
const MAX_IPV6_BITMAP_SIZE = 2n ** 20n;

const IPV4_END = 2n ** 32n;

/** 32,768 addresses, 4 kB. */
const MAX_CHUNK_WORDS = 1024;

const WORD_BITS = 32;
const FULL_WORD = 2 ** WORD_BITS - 1;

/** The allocated addresses of one pool. */
interface PoolAddresses extends IpRange {
  add(value: bigint): void;
  remove(value: bigint): void;
  /** Returns the lowest free address of the pool at or after `start`. */
  findFree(start: bigint): bigint | undefined;
}

/**
 * The next free address of a subnet's allocation pools. The store has the allocations; this index of them makes a choice
 * without a query. It changes with each allocation: if a transaction is rolled back, call `forget` or `clear`.
 *
 * A choice goes on behind the previous one and wraps around at the end of the last pool. A released address is
 * therefore reused late. The position outlasts `forget` and `clear`; only `delete` drops it.
 */
export class FreeAddresses {
  readonly #pools = new Map<string, readonly PoolAddresses[]>();
  readonly #positions = new Map<string, bigint>();

  has(subnetId: string): boolean {
    return this.#pools.has(subnetId);
  }

  /** Loads the index of a subnet. Addresses outside the pools are ignored. */
  load(subnetId: string, ranges: readonly IpRange[], allocated: Iterable<bigint>): void {
    const pools = [...ranges].sort((a, b) => (a.first < b.first ? -1 : 1)).map(createPoolAddresses);
    for (const value of allocated) {
      findPool(pools, value)?.add(value);
    }
    this.#pools.set(subnetId, pools);
  }

  /**
   * Chooses an address without allocating it: until `take`, the choice stays the same. Returns undefined if none is free.
   *
   * @throws {Error} if the subnet is not loaded
   */
  next(subnetId: string): bigint | undefined {
    const pools = this.#pools.get(subnetId);
    if (pools === undefined) {
      throw new Error(`subnet ${subnetId}: choosing an address needs its allocations; call load() first`);
    }
    const value = findFree(pools, this.#positions.get(subnetId) ?? 0n) ?? findFree(pools, 0n);
    if (value !== undefined) {
      this.#positions.set(subnetId, value);
    }
    return value;
  }

  /** Marks an address as allocated. A subnet that is not loaded and an address outside the pools are ignored. */
  take(subnetId: string, value: bigint): void {
    const pools = this.#pools.get(subnetId);
    if (pools === undefined) {
      return;
    }
    findPool(pools, value)?.add(value);
    if (this.#positions.get(subnetId) === value) {
      this.#positions.set(subnetId, value + 1n);
    }
  }

  /** Marks an address as free. A subnet that is not loaded and an address outside the pools are ignored. */
  release(subnetId: string, value: bigint): void {
    findPool(this.#pools.get(subnetId) ?? [], value)?.remove(value);
  }

  /** Drops the allocations of a subnet, because the store or the pools have changed; the next choice needs `load`. */
  forget(subnetId: string): void {
    this.#pools.delete(subnetId);
  }

  /** Drops the allocations of all subnets. */
  clear(): void {
    this.#pools.clear();
  }

  /** Drops everything about a subnet that was deleted. */
  delete(subnetId: string): void {
    this.#pools.delete(subnetId);
    this.#positions.delete(subnetId);
  }
}

function findPool(pools: readonly PoolAddresses[], value: bigint): PoolAddresses | undefined {
  return pools.find((pool) => pool.first <= value && value <= pool.last);
}

function findFree(pools: readonly PoolAddresses[], start: bigint): bigint | undefined {
  for (const pool of pools) {
    const value = start <= pool.last ? pool.findFree(start > pool.first ? start : pool.first) : undefined;
    if (value !== undefined) {
      return value;
    }
  }
  return undefined;
}

function createPoolAddresses(range: IpRange): PoolAddresses {
  const isSmall = range.last - range.first < MAX_IPV6_BITMAP_SIZE || range.last < IPV4_END;
  return isSmall ? new AddressBitmap(range) : new AddressSet(range);
}

/** Up to 32,768 addresses of a bitmap. */
interface Chunk {
  readonly words: Uint32Array;
  /** The number of allocated addresses. */
  allocated: number;
}

/** The addresses as bits, in chunks that are made when they are needed. A full chunk is skipped in one step. */
class AddressBitmap implements PoolAddresses {
  readonly first: bigint;
  readonly last: bigint;
  readonly #size: number;
  readonly #chunkBits: number;
  readonly #chunks = new Map<number, Chunk>();
  #allocated = 0;

  constructor({ first, last }: IpRange) {
    this.first = first;
    this.last = last;
    this.#size = Number(last - first) + 1;
    this.#chunkBits = Math.min(MAX_CHUNK_WORDS, Math.ceil(this.#size / WORD_BITS)) * WORD_BITS;
  }

  add(value: bigint): void {
    const offset = Number(value - this.first);
    const chunk = this.#chunkAt(offset);
    const { word, mask } = this.#locate(offset);
    const bits = chunk.words[word] ?? 0;
    if ((bits & mask) === 0) {
      chunk.words[word] = bits | mask;
      chunk.allocated += 1;
      this.#allocated += 1;
    }
  }

  remove(value: bigint): void {
    const offset = Number(value - this.first);
    const chunk = this.#chunks.get(Math.floor(offset / this.#chunkBits));
    const { word, mask } = this.#locate(offset);
    const bits = chunk?.words[word] ?? 0;
    if (chunk !== undefined && (bits & mask) !== 0) {
      chunk.words[word] = bits & ~mask;
      chunk.allocated -= 1;
      this.#allocated -= 1;
    }
  }

  findFree(start: bigint): bigint | undefined {
    if (this.#allocated === this.#size) {
      return undefined;
    }
    let offset = Number(start - this.first);
    while (offset < this.#size) {
      const index = Math.floor(offset / this.#chunkBits);
      const free = findZeroBit(this.#chunks.get(index), offset % this.#chunkBits, this.#chunkBits);
      offset = index * this.#chunkBits + (free ?? this.#chunkBits);
      if (free !== undefined) {
        // The last chunk has zero bits behind the end of the pool.
        return offset < this.#size ? this.first + BigInt(offset) : undefined;
      }
    }
    return undefined;
  }

  #chunkAt(offset: number): Chunk {
    const index = Math.floor(offset / this.#chunkBits);
    const existing = this.#chunks.get(index);
    if (existing !== undefined) {
      return existing;
    }
    const chunk = { words: new Uint32Array(this.#chunkBits / WORD_BITS), allocated: 0 };
    this.#chunks.set(index, chunk);
    return chunk;
  }

  #locate(offset: number): { readonly word: number; readonly mask: number } {
    const bit = offset % this.#chunkBits;
    return { word: Math.floor(bit / WORD_BITS), mask: 1 << (bit % WORD_BITS) };
  }
}

/** Returns the position of the first zero bit at or after `start`. */
function findZeroBit(chunk: Chunk | undefined, start: number, chunkBits: number): number | undefined {
  if (chunk === undefined) {
    return start;
  }
  if (chunk.allocated === chunkBits) {
    return undefined;
  }
  // Treats the bits before the start as allocated.
  let before = 2 ** (start % WORD_BITS) - 1;
  for (let word = Math.floor(start / WORD_BITS); word < chunk.words.length; word += 1) {
    const bits = ((chunk.words[word] ?? 0) | before) >>> 0;
    if (bits !== FULL_WORD) {
      return word * WORD_BITS + 31 - Math.clz32(~bits & (bits + 1));
    }
    before = 0;
  }
  return undefined;
}

/** The addresses of an IPv6 pool that is too large for a bitmap. */
class AddressSet implements PoolAddresses {
  readonly first: bigint;
  readonly last: bigint;
  readonly #values = new Set<bigint>();

  constructor({ first, last }: IpRange) {
    this.first = first;
    this.last = last;
  }

  add(value: bigint): void {
    this.#values.add(value);
  }

  remove(value: bigint): void {
    this.#values.delete(value);
  }

  findFree(start: bigint): bigint | undefined {
    for (let value = start; value <= this.last; value += 1n) {
      if (!this.#values.has(value)) {
        return value;
      }
    }
    return undefined;
  }
}
