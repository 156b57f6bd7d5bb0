import { badRequest } from "./http-error.js";

/** The parameters of a query string, in order, repeated ones kept. */
export class Query {
  readonly entries: readonly (readonly [string, string])[];

  /** @throws {HttpError} 400 when a part is not UTF-8. */
  constructor(query: string) {
    this.entries = query === "" ? [] : parse(query);
  }

  has(name: string): boolean {
    return this.entries.some(([key]) => key === name);
  }

  /** The last value of a parameter. */
  get(name: string): string | undefined {
    for (let i = this.entries.length - 1; i >= 0; i -= 1) {
      const entry = this.entries[i];
      if (entry?.[0] === name) {
        return entry[1];
      }
    }
    return undefined;
  }

  all(name: string): string[] {
    return this.entries.filter(([key]) => key === name).map(([, value]) => value);
  }
}

function parse(query: string): (readonly [string, string])[] {
  return query
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=");
      return equals < 0 ? [decode(part), ""] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))];
    });
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) {
    return spaced;
  }
  // A percent sign that starts no escape stands for itself.
  const escaped = spaced.replace(/%(?![0-9a-fA-F]{2})/g, "%25");
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw badRequest(`Invalid query string parameters: ${decodeProblem(escaped)}`);
  }
}

/** What Python's UTF-8 decoder says about the first byte that it cannot take. */
function decodeProblem(text: string): string {
  const bytes = [...text.matchAll(/%([0-9a-fA-F]{2})|[\s\S]/gu)].flatMap((match) =>
    match[1] === undefined ? [...new TextEncoder().encode(match[0])] : [Number.parseInt(match[1], 16)],
  );
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) {
      return problem(lead, at, "invalid start byte");
    }
    for (let i = 1; i < length; i += 1) {
      const byte = bytes[at + i];
      if (byte === undefined) {
        return problem(lead, at, "unexpected end of data");
      }
      if (byte < 0x80 || byte > 0xbf) {
        return problem(lead, at, "invalid continuation byte");
      }
    }
    at += length;
  }
  return "invalid UTF-8";
}

function problem(byte: number, at: number, reason: string): string {
  return `'utf-8' codec can't decode byte 0x${byte.toString(16).padStart(2, "0")} in position ${at}: ${reason}`;
}
