import { InvalidArgumentError } from "commander";

/** `name=value`, as given to a repeatable option. */
export type Pair = readonly [name: string, value: string];

/** A parser for commander that collects `name=value`; `what` names what was expected, in the message to the user. */
export function pair(what: string) {
  return (text: string, before: readonly Pair[] = []): readonly Pair[] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new InvalidArgumentError(`expected ${what}.`);
    }
    return [...before, [name, value]];
  };
}
