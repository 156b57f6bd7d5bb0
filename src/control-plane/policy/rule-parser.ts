/** A rule as a policy file may hold it: a text in oslo.policy's language, or its old list of lists. */
export type PolicyRule = string | readonly (string | readonly string[])[];

/** The inputs of a rule: attributes of the token and of the target. */
export interface PolicyAttributes {
  readonly credentials: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
  readonly target: Readonly<Record<string, string | null | undefined>>;
  /** Checks the rule of that name. */
  readonly rule: (name: string) => boolean;
  /** Returns an attribute for Neutron's check `field:<resource>:<attribute>=<value>`. Absent: such checks fail. */
  readonly field?: (resource: string, attribute: string) => unknown;
}

export type Check = (attributes: PolicyAttributes) => boolean;

const NEVER: Check = () => false;
const ALWAYS: Check = () => true;

/** Parses a rule of oslo.policy's language, as a text or as the old lists. What cannot be parsed allows nothing. */
export function parseRule(rule: PolicyRule): Check {
  return typeof rule === "string" ? parseText(rule) : parseList(rule);
}

function parseList(rule: readonly (string | readonly string[])[]): Check {
  if (rule.length === 0) {
    return ALWAYS;
  }
  const alternatives = rule
    .filter((inner) => inner.length > 0)
    .map((inner) => and(typeof inner === "string" ? [parseCheck(inner)] : inner.map(parseCheck)));
  return or(alternatives);
}

function and(checks: readonly Check[]): Check {
  return (attributes) => checks.every((check) => check(attributes));
}

function or(checks: readonly Check[]): Check {
  return (attributes) => checks.some((check) => check(attributes));
}

function parseText(text: string): Check {
  if (text === "") {
    return ALWAYS;
  }
  const tokens = tokenize(text);
  let at = 0;
  const either = (): Check | undefined => {
    const checks = [all()];
    while (tokens[at] === "or") {
      at += 1;
      checks.push(all());
    }
    const known = checks.filter((check) => check !== undefined);
    return known.length === checks.length ? or(known) : undefined;
  };
  const all = (): Check | undefined => {
    const checks = [single()];
    while (tokens[at] === "and") {
      at += 1;
      checks.push(single());
    }
    const known = checks.filter((check) => check !== undefined);
    return known.length === checks.length ? and(known) : undefined;
  };
  const single = (): Check | undefined => {
    const token = tokens[at];
    at += 1;
    if (typeof token === "function") {
      return token;
    }
    if (token === "not") {
      const check = single();
      return check === undefined ? undefined : (attributes) => !check(attributes);
    }
    if (token !== "(") {
      return undefined;
    }
    const check = either();
    return tokens[at++] === ")" ? check : undefined;
  };
  const check = either();
  return check !== undefined && at === tokens.length ? check : NEVER;
}

type Token = "(" | ")" | "and" | "or" | "not" | Check;

function tokenize(text: string): Token[] {
  return text
    .split(/\s+/)
    .filter((word) => word !== "")
    .flatMap((word): Token[] => {
      const opening = /^\(*/.exec(word)?.[0].length ?? 0;
      const inner = word.slice(opening);
      const closing = /\)*$/.exec(inner)?.[0].length ?? 0;
      const clean = inner.slice(0, inner.length - closing);
      const lowered = clean.toLowerCase();
      const middle: Token[] =
        lowered === "and" || lowered === "or" || lowered === "not"
          ? [lowered]
          : clean === ""
            ? []
            : [parseCheck(clean)];
      return [...Array<Token>(opening).fill("("), ...middle, ...Array<Token>(closing).fill(")")];
    });
}

function parseCheck(text: string): Check {
  if (text === "@") {
    return ALWAYS;
  }
  if (text === "!") {
    return NEVER;
  }
  const colon = text.indexOf(":");
  if (colon < 0) {
    return NEVER;
  }
  const kind = text.slice(0, colon);
  const match = text.slice(colon + 1);
  if (kind === "rule") {
    return (attributes) => attributes.rule(match);
  }
  if (kind === "role") {
    return (attributes) => {
      const role = substitute(match, attributes.target);
      return role !== undefined && attributes.roles.has(role.toLowerCase());
    };
  }
  if (kind === "field") {
    return fieldCheck(match);
  }
  const literal = /^(?:'(.*)'|"(.*)"|(True|False|None|-?[0-9]+))$/.exec(kind);
  return (attributes) => {
    const expected = substitute(match, attributes.target);
    if (expected === undefined) {
      return false;
    }
    if (literal !== null) {
      return expected === (literal[1] ?? literal[2] ?? literal[3]);
    }
    const found = kind.split(".").reduce<unknown>(member, attributes.credentials);
    return (
      found !== undefined && (Array.isArray(found) ? found : [found]).some((item) => pythonText(item) === expected)
    );
  };
}

/** A value after `~` is a prefix of the attribute, as a pattern `^prefix`. */
function fieldCheck(match: string): Check {
  const [, resource, attribute, value] = /^([^:]+):([^=]+)=(.*)$/.exec(match) ?? [];
  if (resource === undefined || attribute === undefined || value === undefined) {
    return NEVER;
  }
  return ({ field }) => {
    const found = field?.(resource, attribute);
    if (found === undefined || found === null) {
      return false;
    }
    return value.startsWith("~^") ? String(found).startsWith(value.slice(2)) : pythonText(found) === value;
  };
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
    return undefined;
  }
  return Reflect.get(value, key);
}

/** Fills in `%(name)s`; undefined when the target has no such attribute. */
function substitute(text: string, target: PolicyAttributes["target"]): string | undefined {
  if (!text.includes("%(")) {
    return text;
  }
  let complete = true;
  const filled = text.replace(/%\(([^)]*)\)s/g, (_, name: string) => {
    if (!Object.hasOwn(target, name)) {
      complete = false;
    }
    return pythonText(target[name]);
  });
  return complete ? filled : undefined;
}

function pythonText(value: unknown): string {
  if (value === null || value === undefined) {
    return "None";
  }
  if (value === true) {
    return "True";
  }
  if (value === false) {
    return "False";
  }
  return String(value);
}
