/** An assignment `name = value` in a file. */
interface Assignment {
  /** As written, without the brackets. */
  readonly section: string;
  readonly option: string;
  /** Continuation lines are joined by line feeds. */
  readonly value: string;
  readonly path: string;
  /** The line of the name, from 1. */
  readonly line: number;
}

interface SectionHeader {
  readonly section: string;
  readonly path: string;
  readonly line: number;
}

interface SyntaxProblem {
  /** The problem, in oslo.config's words. */
  readonly message: string;
  readonly path: string;
  readonly line: number;
  /** The line as read. */
  readonly text: string;
}

/** The contents of a file, in order. */
export interface IniFile {
  readonly path: string;
  readonly assignments: readonly Assignment[];
  readonly sections: readonly SectionHeader[];
  readonly problems: readonly SyntaxProblem[];
}

/** The characters that Python's `str.strip` removes; JavaScript's `trim` differs in a few of them. */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LEADING = new RegExp(`^[${SPACE}]+`);
const TRAILING = new RegExp(`[${SPACE}]+$`);

/** Removes white space as Python's `str.strip` does. */
export const strip = (text: string): string => text.replace(LEADING, "").replace(TRAILING, "");

/** Parses oslo.config's dialect. Continues after a problem, so that all of them are reported. */
export function parseIni(text: string, path: string): IniFile {
  const reader = new IniReader(path);
  for (const line of text.split(/\r\n|\r|\n/)) {
    reader.read(line.replace(TRAILING, ""));
  }
  return reader.end();
}

interface OpenAssignment {
  readonly option: string;
  readonly line: number;
  readonly values: string[];
}

class IniReader {
  readonly #path: string;
  readonly #assignments: Assignment[] = [];
  readonly #sections: SectionHeader[] = [];
  readonly #problems: SyntaxProblem[] = [];
  #line = 0;
  #section: string | undefined;
  #open: OpenAssignment | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @param line without white space at its end. */
  read(line: string): void {
    this.#line += 1;
    if (/^[ \t]/.test(line)) {
      this.#continue(line);
      return;
    }
    this.#close(line);
    if (line.startsWith("[")) {
      this.#startSection(line);
    } else if (line !== "" && !/^[#;]/.test(line)) {
      this.#assign(line);
    }
  }

  end(): IniFile {
    this.#close("");
    return {
      path: this.#path,
      assignments: this.#assignments,
      sections: this.#sections,
      problems: this.#problems,
    };
  }

  #continue(line: string): void {
    if (this.#open) {
      this.#open.values.push(line.replace(LEADING, ""));
    } else {
      this.#problem("Unexpected continuation line", line);
    }
  }

  #startSection(line: string): void {
    if (!line.endsWith("]")) {
      this.#problem("Invalid section (must end with ])", line);
    } else if (line.length <= 2) {
      this.#problem("Empty section name", line);
    } else {
      this.#section = line.slice(1, -1);
      this.#sections.push({ section: this.#section, path: this.#path, line: this.#line });
    }
  }

  #assign(line: string): void {
    const mark = line.search(/[:=]/);
    if (mark < 0) {
      this.#problem("No ':' or '=' found in assignment", line);
      return;
    }
    const option = strip(line.slice(0, mark));
    if (option === "") {
      this.#problem("Key cannot be empty", line);
      return;
    }
    this.#open = { option, line: this.#line, values: [unquote(strip(line.slice(mark + 1)))] };
  }

  #close(line: string): void {
    if (!this.#open) {
      return;
    }
    const { option, line: number, values } = this.#open;
    this.#open = undefined;
    if (this.#section === undefined) {
      this.#problem("Section must be started before assignment", line, number);
    } else {
      const value = values.join("\n");
      this.#assignments.push({ section: this.#section, option, value, path: this.#path, line: number });
    }
  }

  #problem(message: string, text: string, line = this.#line): void {
    this.#problems.push({ message, path: this.#path, line, text });
  }
}

function unquote(value: string): string {
  const quote = value.charAt(0);
  return (quote === '"' || quote === "'") && value.endsWith(quote) ? value.slice(1, -1) : value;
}
