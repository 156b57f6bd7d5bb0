/** Limits of one message that a listener accepts. Messages within them are handled in well under 100 ms. */
export interface MessageLimits {
  readonly bytes: number;
  /** Max nesting of arrays and objects. It allows code to walk a value recursively. */
  readonly depth: number;
  /** Max members of all arrays and objects in total. */
  readonly members: number;
}

/** No legitimate request nests deeper. Python's clients cannot parse a thousand levels. */
const DEPTH = 32;

const MIB = 1024 * 1024;

/** Limits of all listeners that accept JSON. */
export const MESSAGE_LIMITS = {
  /** Compute and Identity: `[oslo_middleware] max_request_body_size`. */
  nova: { bytes: 114_688, depth: DEPTH, members: 10_000 },
  /** A config drive is a single string of several MiB. */
  ironic: { bytes: 16 * MIB, depth: DEPTH, members: 10_000 },
  /** Reshapes and heals of several thousand consumers in one request. */
  placement: { bytes: 16 * MIB, depth: DEPTH, members: 40_000 },
  /** Agents and operators' commands: one request of a host with ten thousand nodes. */
  wire: { bytes: 4 * MIB, depth: DEPTH, members: 30_000 },
} as const satisfies Readonly<Record<string, MessageLimits>>;

/** Max parameters of a query. Each may be a pattern that has to be compiled. */
export const MAX_QUERY_PARAMETERS = 200;

/** Max request groups of one GET /allocation_candidates. Each is matched with every provider. */
export const MAX_REQUEST_GROUPS = 32;

export type Excess = keyof MessageLimits;

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPENING = [91, 123] as const;
const CLOSING = [93, 125] as const;

/**
 * Finds the limit that a JSON text exceeds. It scans the text once before parsing, without recursion. The result for
 * invalid JSON is arbitrary.
 */
export function excessOf(text: string, limits: MessageLimits): Excess | undefined {
  if (text.length > limits.bytes || Buffer.byteLength(text) > limits.bytes) {
    return "bytes";
  }
  let depth = 0;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA) {
      members += 1;
    } else if (code === OPENING[0] || code === OPENING[1]) {
      depth += 1;
      members += 1;
    } else if (code === CLOSING[0] || code === CLOSING[1]) {
      depth -= 1;
    }
    if (depth > limits.depth) {
      return "depth";
    }
    if (members > limits.members) {
      return "members";
    }
  }
  return undefined;
}

/** Returns the index where the string ends that begins at `start`. */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end < 0 || text.charCodeAt(end - 1) !== BACKSLASH) {
    return end < 0 ? text.length : end;
  }
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** Returns a message about the exceeded limit. @param what the message's kind: `body`, `frame` */
export function excessText(excess: Excess, limits: MessageLimits, what = "body"): string {
  switch (excess) {
    case "bytes":
      return `the ${what} has more than ${limits.bytes} bytes`;
    case "depth":
      return `the ${what} is nested deeper than ${limits.depth} levels`;
    case "members":
      return `the ${what} has more than ${limits.members} members`;
  }
}
