/** The words of an unfinished line, as a shell reads them; the last one is what is being typed, and may be empty. */
export function lineWords(line: string): readonly string[] {
  const words: string[] = [];
  let word = "";
  let begun = false;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote !== "") {
      quote = character === quote ? "" : quote;
      word += quote === "" ? "" : character;
    } else if (character === "\\") {
      at += 1;
      word += line[at] ?? "";
      begun = true;
    } else if (character === '"' || character === "'") {
      quote = character;
      begun = true;
    } else if (/\s/.test(character)) {
      if (begun) {
        words.push(word);
      }
      word = "";
      begun = false;
    } else {
      word += character;
      begun = true;
    }
  }
  return [...words, word];
}
