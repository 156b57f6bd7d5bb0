/**
 * Adds the keys that `--json` output had before release 0.2, for existing scripts.
 * @param former former names by current name, for every object in the value
 */
export function withFormerNames(value: unknown, former: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => withFormerNames(each, former));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value).flatMap(([key, each]) => {
    const converted = withFormerNames(each, former);
    const formerName = former[key];
    return formerName === undefined
      ? [[key, converted]]
      : [
          [key, converted],
          [formerName, converted],
        ];
  });
  return Object.fromEntries(entries);
}
