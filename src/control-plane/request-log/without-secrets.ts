/** Names of fields whose texts are nobody's business, or may hold what is. */
const SECRET = /token|pass|secret|signature|private_key|user_data|personality|blob/i;

const HIDDEN = "****";

/** The same JSON, with every text hidden that its name, or that of what it is in, calls a secret. */
export function withoutSecretFields(value: unknown, isSecret = false): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withoutSecretFields(each, isSecret));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, withoutSecretFields(each, isSecret || SECRET.test(key))]),
    );
  }
  return isSecret && typeof value === "string" ? HIDDEN : value;
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
  return value === HIDDEN ? makeUp(name) : value;
}
