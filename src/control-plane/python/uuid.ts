/** oslo.utils' `is_uuid_like`: 32 hexadecimal digits with any hyphens, braces or prefix. */
export function isUuidLike(text: string): boolean {
  return UUID.test(text) || HEX.test(bare(text));
}

/** `str(uuid.UUID(text))` for a string that {@link isUuidLike}. */
export function normalizeUuid(text: string): string {
  if (UUID.test(text)) {
    return text;
  }
  const hex = bare(text).toLowerCase();
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** jsonschema's `uuid` format, which query parameters must have: hyphens only in the standard positions. */
export function isHyphenatedUuid(text: string): boolean {
  return isUuidLike(text) && [8, 13, 18, 23].every((position) => text[position] === "-");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const HEX = /^[0-9a-fA-F]{32}$/;

function bare(text: string): string {
  return text
    .replaceAll("urn:", "")
    .replaceAll("uuid:", "")
    .replace(/^[{}]+|[{}]+$/g, "")
    .replaceAll("-", "");
}
