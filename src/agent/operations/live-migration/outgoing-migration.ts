import { PublicError } from "../../../runtime/public-error.js";

/** Where a live migration is on its source. `ending`: the driver is through with it. */
export type OutgoingPhase = "queued" | "preparing" | "running" | "ending";

/** A live migration that this process works on as the source. */
export class OutgoingMigration {
  readonly instanceUuid: string;
  readonly migrationId: number;
  phase: OutgoingPhase = "queued";
  /** Somebody wants it to stop; looked at between steps. */
  aborted = false;
  /** Resolves when all is over, however it ended. */
  readonly done: Promise<void>;
  readonly #turn = new AbortController();
  #end: () => void = () => {};

  constructor(instanceUuid: string, migrationId: number) {
    this.instanceUuid = instanceUuid;
    this.migrationId = migrationId;
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Aborted when it gives up its place in the queue. */
  get turn(): AbortSignal {
    return this.#turn.signal;
  }

  /** Takes it out of the queue, or marks it to be stopped at the next step. True: it was waiting. */
  abort(): boolean {
    this.aborted = true;
    if (this.phase !== "queued") {
      return false;
    }
    this.#turn.abort(new LiveMigrationAborted(this.migrationId));
    return true;
  }

  end(): void {
    this.#end();
  }
}

export class LiveMigrationAborted extends PublicError {
  override readonly name = "LiveMigrationAborted";

  constructor(migrationId: number) {
    super(`live migration ${migrationId} was aborted`);
  }
}
