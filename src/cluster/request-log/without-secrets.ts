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

/** The same JSON without the fields that {@link withoutSecretFields} has hidden: a service would refuse what stands for them. */
export function withoutHiddenFields(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutHiddenFields);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const left = Object.entries(value).filter(([, each]) => !isHidden(each));
  return Object.fromEntries(left.map(([key, each]) => [key, withoutHiddenFields(each)]));
}

function isHidden(value: unknown): boolean {
  return value === HIDDEN || (Array.isArray(value) && value.length > 0 && value.every(isHiddenDeep));
}

function isHiddenDeep(value: unknown): boolean {
  return isHidden(value) || (typeof value === "object" && value !== null && Object.values(value).every(isHidden));
}
