/** Names of query parameters whose values are secret. */
const SECRET = /token|pass|secret|signature|credential|api[-_]?key|auth/i;

/** The path segment that precedes a token, as in Identity's first versions. */
const BEFORE_TOKEN = "tokens";

/** The max number of logged characters of a path and its query. */
const LONGEST = 2_000;

const HIDDEN = "****";

/**
 * Formats a path and its query for a log, without secrets.
 * @param secrets the secrets of the request or its response; each occurrence is redacted
 */
export function withoutSecrets(path: string, query: string, secrets: readonly (string | undefined)[]): string {
  const segments = path.split("/");
  const redacted = segments.map((segment, at) =>
    segments[at - 1] === BEFORE_TOKEN && segment !== "" ? HIDDEN : segment,
  );
  const pairs = query.split("&").map((pair) => {
    const at = pair.indexOf("=");
    return at >= 0 && SECRET.test(decoded(pair.slice(0, at))) ? `${pair.slice(0, at)}=${HIDDEN}` : pair;
  });
  let target = redacted.join("/") + (query === "" ? "" : `?${pairs.join("&")}`);
  for (const secret of secrets) {
    if (secret !== undefined && secret.length >= SHORTEST) {
      target = target.replaceAll(secret, HIDDEN).replaceAll(encodeURIComponent(secret), HIDDEN);
    }
  }
  return target.length > LONGEST ? `${target.slice(0, LONGEST)}...` : target;
}

/** The min length of a secret; shorter strings would match anywhere. */
const SHORTEST = 8;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Names of fields whose strings are secret or may contain secrets. */
const SECRET_FIELD = /token|pass|secret|signature|private_key|user_data|personality|blob/i;

/**
 * Returns a copy of the JSON in which each string is redacted if its name, or that of an enclosing field, is secret.
 */
export function withoutSecretFields(value: unknown, isSecret = false): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withoutSecretFields(each, isSecret));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, withoutSecretFields(each, isSecret || SECRET_FIELD.test(key))]),
    );
  }
  return isSecret && typeof value === "string" ? HIDDEN : value;
}

/**
 * Returns a copy of the JSON with generated strings in place of those that {@link withoutSecretFields} redacted, since
 * a service may require them.
 * @param makeUp generates a string; its argument is the name of the field
 */
export function withMadeUpSecrets(value: unknown, makeUp: (name: string) => string, name = ""): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withMadeUpSecrets(each, makeUp, name));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withMadeUpSecrets(each, makeUp, key)]));
  }
  return value === HIDDEN ? makeUp(name) : value;
}
