/** Names of query parameters whose values are nobody's business. */
const SECRET = /token|pass|secret|signature|credential|api[-_]?key|auth/i;

/** Segments of a path that a token comes after, as in Identity's first versions. */
const BEFORE_TOKEN = "tokens";

/** Characters of a path and its query that are shown. */
const LONGEST = 2_000;

const HIDDEN = "****";

/**
 * A path and its query for a log.
 * @param secrets that the request or its answer carries: they are hidden wherever they stand
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

/** Characters: what is shorter is no secret, and would be found anywhere. */
const SHORTEST = 8;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Names of fields whose texts are nobody's business, or may hold what is. */
const SECRET_FIELD = /token|pass|secret|signature|private_key|user_data|personality|blob/i;

const HIDDEN_FIELD = "****";

/** The same JSON, with every text hidden that its name, or that of what it is in, calls a secret. */
export function withoutSecretFields(value: unknown, isSecret = false): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withoutSecretFields(each, isSecret));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, withoutSecretFields(each, isSecret || SECRET_FIELD.test(key))]),
    );
  }
  return isSecret && typeof value === "string" ? HIDDEN_FIELD : value;
}

/**
 * The same JSON with other texts in the place of those that {@link withoutSecretFields} has hidden: a service may ask for them.
 * @param makeUp is given the name of the field
 */
export function withMadeUpSecrets(value: unknown, makeUp: (name: string) => string, name = ""): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withMadeUpSecrets(each, makeUp, name));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withMadeUpSecrets(each, makeUp, key)]));
  }
  return value === HIDDEN_FIELD ? makeUp(name) : value;
}
