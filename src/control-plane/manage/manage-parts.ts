import type { Conductor } from "../../conductor-client/port.js";
import type { PlacementHttp } from "../../placement-client/placement-http.js";
import type { RequestContext } from "../../placement-client/types.js";
import type { Random } from "../../runtime/random.js";
import type { Timers } from "../../runtime/timers.js";

/** What the commands of nova-manage work with: the state of record, Placement, and a place for their output. */
export interface ManageParts {
  readonly conductor: Pick<Conductor, "call">;
  readonly placement: PlacementHttp;
  readonly timers: Pick<Timers, "sleep">;
  readonly random: Random;
  /** `[workarounds] upstream_quirks` */
  readonly quirks: ReadonlySet<string>;
  /** The id of all requests of this run. */
  readonly context: RequestContext;
  /** A line of standard output. */
  readonly print: (line: string) => void;
}

/** Ends a command; its message is printed, and the program exits with `code`. */
export class ManageFailure extends Error {
  override readonly name = "ManageFailure";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The codes of every command of nova-manage for wrong input and for an unforeseen failure. */
export const INVALID_INPUT = 127;
export const UNEXPECTED = 255;
