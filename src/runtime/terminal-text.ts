/** What moves a terminal's cursor, changes its state or hides what is written: control, format and separator characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** The same, beside what this program writes itself: lines, tabs and colours. */
const UNSAFE_OR_OWN = new RegExp(String.raw`\x1b\[[\d;]*m|[\n\t]|${UNSAFE.source}`, "gu");

/**
 * Text for a terminal: what others wrote (names, errors, logs) can neither move its cursor nor pass for something else.
 * Lines, tabs and colours stay. Escapes are JSON's, so that JSON stays JSON.
 */
export function terminalText(text: string): string {
  return text.replaceAll(UNSAFE_OR_OWN, (found) =>
    found.length > 2 || found === "\n" || found === "\t" ? found : escaped(found),
  );
}

/** The same for a value inside a line: it adds no line and no colour either. */
export function terminalValue(text: string): string {
  return text.replaceAll(UNSAFE, escaped);
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const code = character.charCodeAt(index);
    return SHORT[code] ?? `\\u${code.toString(16).padStart(4, "0")}`;
  }).join("");
}

const SHORT: Readonly<Record<number, string>> = { 9: "\\t", 10: "\\n", 13: "\\r" };
