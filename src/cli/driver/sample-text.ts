import { Derived, literal, type Option, type SectionTable } from "../../config/option.js";
import { boolean, type ValueType } from "../../config/value-type.js";
import { wrapWords } from "../ui/table.js";

/** Characters of a line. */
const WIDTH = 100;

/**
 * A sample of nova.conf: the driver, and each of its options as a comment with what it is for, what it takes and its default.
 * @param driver what `compute_driver` names it by
 */
export function sampleOf(driver: string, sections: SectionTable): string {
  const renderedSections = Object.entries(sections).map(([section, options]) =>
    [`[${section}]`, ...Object.entries(options).map(([name, declared]) => sampleOfOption(name, declared))].join("\n\n"),
  );
  return `${[`[DEFAULT]\ncompute_driver = ${driver}`, ...renderedSections].join("\n\n")}\n`;
}

function sampleOfOption(name: string, declared: Option<unknown>): string {
  const { help, type, secret } = declared;
  const description = [help, typeOf(type), secret === true ? "(Never shown.)" : ""].join(" ");
  const comment = wrapWords(description.replace(/\s+/g, " ").trim(), WIDTH - 2).replace(/^/gm, "# ");
  return `${comment}\n${`#${name} = ${defaultOf(declared)}`.trimEnd()}`;
}

/** `(Integer of at least 1.)`; nothing of what any text is, or yes and no. */
function typeOf(type: ValueType<unknown>): string {
  const expected = type.expected.replace(/^an? /, "");
  const plain = expected === "text" || type === boolean;
  return plain ? "" : `(${expected.charAt(0).toUpperCase()}${expected.slice(1)}.)`;
}

/** As it could stand in the file; nothing for what is unset or is not to be seen. */
function defaultOf({ default: value, type, secret }: Option<unknown>): string {
  // A driver in plain JavaScript may leave it out.
  if (value === null || value === undefined || secret === true) {
    return "";
  }
  // Lines after the first go on with the value where they are indented.
  return value instanceof Derived ? value.documented : literal(type.format(value)).replaceAll("\n", "\n#  ");
}
