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
export class KeyPairExists extends ConductorError {
  override readonly name = "KeyPairExists";
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
