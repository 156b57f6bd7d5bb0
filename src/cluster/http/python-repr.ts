/** A value as Python's `repr()` writes it; OpenStack's error texts quote what they found so. */
export const pythonRepr = (value: unknown): string => {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return reprString(value);
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([key, item]) => `${reprString(key)}: ${pythonRepr(item)}`);
    return `{${entries.join(", ")}}`;
  }
  return String(value);
};

/** As `str()`: text stays as it is. */
export const pythonStr = (value: unknown): string => (typeof value === "string" ? value : pythonRepr(value));

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const reprString = (text: string): string => {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const char of text) {
    if (char === quote) out += `\\${char}`;
    else if (ESCAPES[char] !== undefined) out += ESCAPES[char];
    else if (char === " " || !/[\p{C}\p{Z}]/u.test(char)) out += char;
    else out += escapeCode(char.codePointAt(0) ?? 0);
  }
  return out + quote;
};

const escapeCode = (code: number): string => {
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
};
