/**
 * Adds the names that keys of `--json` output had before release 0.2, so that scripts go on working.
 * @param former the former name by the present one, for every object in the value
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
