/** A command of a recording, with everything that it printed. */
export interface RecordedCommand {
  readonly command: string;
  readonly output: readonly string[];
  /** Seconds until the command ended. */
  readonly seconds: number;
}

const ROWS = 27;
const FONT_SIZE = 13;
const LINE_HEIGHT = 18;
const CHAR_WIDTH = FONT_SIZE * 0.6021;
const PADDING = 14;
const TITLE_HEIGHT = 30;
const PROMPT = "$ ";

/** Seconds: before the first command, for a typed character, before a command starts, after its output, at the end. */
const BEFORE = 0.6;
const TYPED = 0.022;
const ENTER = 0.4;
const MIN_READING = 1;
const READING_PER_LINE = 0.13;
const AFTER = 4;
/** Maximum seconds that a command takes in the recording. */
const MAX_WAIT = 2;

interface Line {
  readonly text: string;
  readonly isCommand: boolean;
  /** Seconds from the start until the line appears. */
  readonly at: number;
}

/** Renders a recording as an animated SVG without scripts, which starts again at its end. */
export function renderTerminal(title: string, commands: readonly RecordedCommand[], columns: number): string {
  const lines: Line[] = [];
  let now = BEFORE;
  for (const { command, output, seconds } of commands) {
    lines.push({ text: command, isCommand: true, at: now });
    now += command.length * TYPED + ENTER + Math.min(MAX_WAIT, Math.max(0.2, Math.round(seconds * 2) / 2));
    lines.push(...output.map((text) => ({ text, isCommand: false, at: now })));
    now += Math.max(MIN_READING, output.length * READING_PER_LINE);
  }
  const duration = now + AFTER;
  const width = Math.ceil(columns * CHAR_WIDTH + 2 * PADDING);
  const height = TITLE_HEIGHT + ROWS * LINE_HEIGHT + PADDING;
  const percent = (at: number) => `${Number(((at / duration) * 100).toFixed(2))}%`;
  const styles: string[] = [];
  const drawn = lines.map(({ text, isCommand, at }, row) => {
    styles.push(appearance(`l${row}`, percent(at)));
    const y = row * LINE_HEIGHT + FONT_SIZE;
    if (!isCommand) {
      return `<text class="l${row}" y="${y}">${escaped(text)}</text>`;
    }
    const typed = (text.length * CHAR_WIDTH).toFixed(1);
    styles.push(
      `@keyframes c${row}{0%,${percent(at)}{transform:none;animation-timing-function:steps(${text.length})}` +
        `${percent(at + text.length * TYPED)},100%{transform:translateX(${typed}px)}}` +
        `.c${row}{animation-name:c${row};transform:translateX(${typed}px)}`,
      // The cursor disappears with the next line.
      `@keyframes h${row}{0%{visibility:inherit}${percent(lines[row + 1]?.at ?? duration)}{visibility:hidden}}` +
        `.h${row}{animation-name:h${row};visibility:hidden}`,
    );
    const x = (PROMPT.length * CHAR_WIDTH).toFixed(1);
    return (
      `<g class="l${row}"><text y="${y}"><tspan class="p">${PROMPT}</tspan><tspan class="b">${escaped(text)}</tspan></text>` +
      // It covers what is not typed yet; its left edge is the cursor.
      `<g class="c${row}"><rect class="o" x="${x}" y="${y - FONT_SIZE - 1}" width="${width}" height="${LINE_HEIGHT}"/>` +
      `<rect class="u h${row}" x="${x}" y="${y - FONT_SIZE + 1}" width="${CHAR_WIDTH.toFixed(1)}" height="${FONT_SIZE + 2}"/></g></g>`
    );
  });
  styles.push(scrolling(lines, percent));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dbe3;white-space:pre}
.p{fill:#7ec699}.b{fill:#fff;font-weight:600}.o,.w{fill:#161b22}.u{fill:#8b949e}
g,text,rect{animation-duration:${duration.toFixed(1)}s;animation-iteration-count:infinite;animation-timing-function:step-end}
${styles.join("\n")}
@media (prefers-reduced-motion:reduce){g,text,rect{animation:none}}
</style>
<rect class="w" width="${width}" height="${height}" rx="8"/>
<circle cx="18" cy="15" r="5" fill="#f0655b"/><circle cx="34" cy="15" r="5" fill="#f0bf4c"/><circle cx="50" cy="15" r="5" fill="#5bc455"/>
<svg x="${PADDING}" y="${TITLE_HEIGHT}" width="${width - 2 * PADDING}" height="${ROWS * LINE_HEIGHT}">
<g class="s">
${drawn.join("\n")}
</g>
</svg>
</svg>
`;
}

/** Hides an element before a time. */
function appearance(name: string, at: string): string {
  return `@keyframes ${name}{0%{visibility:hidden}${at}{visibility:visible}}.${name}{animation-name:${name}}`;
}

/** Scrolls so that the last visible line is at the end. */
function scrolling(lines: readonly Line[], percent: (at: number) => string): string {
  const steps = new Map<string, number>();
  for (const [row, { at }] of lines.entries()) {
    const hidden = Math.max(0, row + 1 - ROWS);
    if (hidden > 0) {
      steps.set(percent(at), hidden * LINE_HEIGHT);
    }
  }
  const last = Math.max(0, lines.length - ROWS) * LINE_HEIGHT;
  const frames = Array.from(steps, ([at, offset]) => `${at}{transform:translateY(-${offset}px)}`);
  return `@keyframes s{0%{transform:none}${frames.join("")}100%{transform:translateY(-${last}px)}}.s{animation-name:s;transform:translateY(-${last}px)}`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
