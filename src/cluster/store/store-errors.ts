import { ConductorError } from "../../conductor/errors.js";

export class FlavorExists extends ConductorError {
  override readonly name = "FlavorExists";
}
export class FlavorIdExists extends ConductorError {
  override readonly name = "FlavorIdExists";
}
export class FlavorNotFound extends ConductorError {
  override readonly name = "FlavorNotFound";
}

export class FlavorAccessExists extends ConductorError {
  override readonly name = "FlavorAccessExists";
}
export class FlavorAccessNotFound extends ConductorError {
  override readonly name = "FlavorAccessNotFound";
}
export class AggregateNameExists extends ConductorError {
  override readonly name = "AggregateNameExists";
}
export class AggregateNotFound extends ConductorError {
  override readonly name = "AggregateNotFound";
}
export class AggregateHostExists extends ConductorError {
  override readonly name = "AggregateHostExists";
}
export class AggregateHostNotFound extends ConductorError {
  override readonly name = "AggregateHostNotFound";
}

/** The file of the state of record cannot be used by this process. Nothing was changed. */
export class StoreUnusable extends Error {
  override readonly name: string = "StoreUnusable";
  readonly path: string;

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`the state of record ${path} cannot be used: ${reason}`, options);
    this.path = path;
  }
}

/** The file was written by a newer version of this program. */
export class StoreTooNew extends Error {
  override readonly name = "StoreTooNew";

  constructor(component: string, found: number, known: number) {
    super(
      `the state of record has version ${found} of the ${component} tables, this program knows up to ${known}: ` +
        "start the newer program again, or name another state directory with --state-dir",
    );
  }
}
