/** A media range of an Accept header. */
interface Range {
  readonly type: string;
  readonly parameters: string;
  readonly q: number;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const RANGE = new RegExp(`^(${TOKEN}/${TOKEN})((?:[ \\t]*;[ \\t]*${TOKEN}(?:=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?)*)$`);
const QUALITY = /[ \t]*;[ \t]*q=([^;]*)/i;
const QUALITY_VALUE = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The offers that an Accept header takes, best first. A header that is absent or cannot be parsed takes all of them
 * in their own order.
 */
export function acceptable(accept: string, offers: readonly string[]): string[] {
  const ranges = parseAccept(accept);
  if (ranges === undefined) {
    return [...offers];
  }
  return offers
    .map((offer, order) => ({ offer, order, q: quality(offer, ranges) }))
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q || a.order - b.order)
    .map(({ offer }) => offer);
}

/** Undefined when it is not a valid Accept header. */
function parseAccept(accept: string): Range[] | undefined {
  const ranges: Range[] = [];
  for (const part of accept.split(",")) {
    const text = part.trim();
    if (text === "") {
      continue;
    }
    const match = RANGE.exec(text);
    if (match === null) {
      return undefined;
    }
    const parameters = match[2] ?? "";
    const q = QUALITY.exec(parameters)?.[1]?.trim();
    if (q !== undefined && !QUALITY_VALUE.test(q)) {
      return undefined;
    }
    ranges.push({
      type: (match[1] ?? "").toLowerCase(),
      parameters: parameters.replace(QUALITY, "").trim(),
      q: q === undefined ? 1 : Number(q),
    });
  }
  return ranges.length === 0 ? undefined : ranges;
}

function quality(offer: string, ranges: readonly Range[]): number {
  const [major] = offer.split("/");
  const matching = (type: string) => ranges.filter((range) => range.type === type && range.parameters === "");
  const exact = matching(offer);
  const found = exact.length > 0 ? exact : matching(`${major}/*`).length > 0 ? matching(`${major}/*`) : matching("*/*");
  return found.length === 0 ? 0 : Math.max(...found.map((range) => range.q));
}
