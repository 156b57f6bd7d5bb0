/** The words of a command; one in quotes may have blanks. Undefined: a quote has no other half. */
export function wordsOf(command: string): readonly string[] | undefined {
  const words: string[] = [];
  const rest = command.replaceAll(/\s*((?:[^\s"']|"[^"]*"|'[^']*')+)/g, (_all, word: string) => {
    words.push(
      word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_quoted, double?: string, single?: string) => double ?? single ?? ""),
    );
    return "";
  });
  return rest.trim() === "" ? words : undefined;
}
