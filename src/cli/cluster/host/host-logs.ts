import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { HostRow } from "../../../conductor/methods/hosts.js";
import { ExitCode } from "../../ui/exit-code.js";
import { interruptSignal } from "../../ui/interrupt-signal.js";
import { HostLogFilter } from "./host-log.js";
import { chosenHosts, type HostFlags, type HostPlace, withCluster } from "./host-session.js";

export interface LogFlags extends HostFlags {
  readonly lines: number;
  readonly follow?: true;
}

/** Milliseconds between two looks for more. */
const PAUSE = 250;

/** One host's part of a log. */
interface Source {
  readonly host: string;
  readonly path: string;
  readonly accepts: (line: string) => boolean;
  /** Bytes that were read. */
  offset: number;
}

/** Prints the last lines of hosts' logs, and with `follow` what comes after. @returns the exit code */
export function printLogs(hosts: readonly string[], flags: LogFlags): Promise<number> {
  return withCluster(flags, async (session, place) => {
    const rows = await session.call("list_hosts", { host: null });
    const sources = chosenHosts(hosts, false, rows, place.directory.root).map((row) => sourceOf(row, place));
    let shown = "";
    const print = ({ host }: Source, lines: readonly string[]) => {
      if (lines.length > 0 && sources.length > 1 && shown !== host) {
        place.terminal.print(`${shown === "" ? "" : "\n"}==> ${host} <==`);
        shown = host;
      }
      for (const line of lines) {
        place.terminal.print(line);
      }
    };
    for (const source of sources) {
      print(source, await newLines(source, flags.lines));
    }
    if (flags.follow === true) {
      await follow(sources, print, place);
    }
    return ExitCode.ok;
  });
}

function sourceOf({ host, process, log }: HostRow, { directory }: HostPlace): Source {
  const isShared = process !== null && process !== "own" && process !== "elsewhere";
  const filter = new HostLogFilter(host);
  return {
    host,
    path: log ?? directory.log(host),
    accepts: isShared ? (line) => filter.accepts(line) : () => true,
    offset: 0,
  };
}

async function follow(
  sources: readonly Source[],
  print: (source: Source, lines: readonly string[]) => void,
  { runtime }: HostPlace,
): Promise<void> {
  const signal = interruptSignal();
  while (!signal.aborted) {
    for (const source of sources) {
      print(source, await newLines(source));
    }
    await runtime.timers.sleep(PAUSE, signal).catch(() => undefined);
  }
}

/**
 * The host's whole lines since the last time, the last `most` of them; a log that has become shorter is read from its start,
 * and a line that is half written is left for the next time.
 */
async function newLines(source: Source, most = Number.POSITIVE_INFINITY): Promise<readonly string[]> {
  const size = (await stat(source.path).catch(() => undefined))?.size ?? 0;
  source.offset = size < source.offset ? 0 : source.offset;
  if (size === source.offset) {
    return [];
  }
  let lines: string[] = [];
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(source.path, { start: source.offset, end: size - 1 })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    const end = bytes.lastIndexOf("\n") + 1;
    rest = bytes.subarray(end);
    const whole = bytes.subarray(0, end).toString().split("\n").slice(0, -1);
    lines = [...lines, ...whole.filter(source.accepts)].slice(-Math.max(most, 1));
  }
  source.offset = size - rest.length;
  return most === 0 ? [] : lines;
}
