/** A `$name` that leads nowhere. */
export class UnknownReference extends Error {
  override readonly name = "UnknownReference";
}

/** `$$`, `$name`, `${name}`; a name may be `group.name`. Any other `$` stands for itself. */
const REFERENCE = /\$(?:(\$)|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})/gi;

/**
 * Puts other options' values where they are referred to.
 * @param lookUp the text for a name; throws {@link UnknownReference} for an unknown one.
 */
export function substitute(text: string, lookUp: (name: string) => string): string {
  // oslo.config takes a backslash before a dollar sign for a second one.
  return text
    .replaceAll("\\$", "$$$$")
    .replace(REFERENCE, (_match, escaped: string | undefined, plain: string | undefined, braced: string | undefined) =>
      escaped === undefined ? lookUp(plain ?? braced ?? "") : "$",
    );
}
