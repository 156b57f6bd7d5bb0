/**
 * The part of JSON Schema that Placement's API uses. The order of the keywords matters: of several errors the one whose
 * keyword stands first is reported.
 */
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: false;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly uniqueItems?: true;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: "uuid";
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

export type SchemaType = "object" | "array" | "string" | "integer" | "number" | "null";

/** Python's `re.search` for the patterns in use: there `$` also matches before a newline that ends the text. */
export function pythonPattern(pattern: string): RegExp {
  const known = PATTERNS.get(pattern);
  if (known !== undefined) {
    return known;
  }
  const compiled = new RegExp(pattern.replaceAll("$", "\\n?$"));
  PATTERNS.set(pattern, compiled);
  return compiled;
}

const PATTERNS = new Map<string, RegExp>();

/** The number of characters as Python counts them. */
export function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count -= 1;
        i += 1;
      }
    }
  }
  return count;
}
