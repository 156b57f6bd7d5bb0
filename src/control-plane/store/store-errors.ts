import { ConductorError } from "../../conductor-client/errors.js";

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
export class SecurityGroupDefaultExists extends ConductorError {
  override readonly name = "SecurityGroupDefaultAlreadyExists";
}
export class SecurityGroupInUse extends ConductorError {
  override readonly name = "SecurityGroupInUse";
}
export class PortNotFound extends ConductorError {
  override readonly name = "PortNotFound";
}
export class PortInUse extends ConductorError {
  override readonly name = "PortInUse";
}
export class IpAddressInUse extends ConductorError {
  override readonly name = "IpAddressAlreadyAllocated";
}
export class InvalidIpForNetwork extends ConductorError {
  override readonly name = "InvalidIpForNetwork";
}
export class IpAddressGenerationFailure extends ConductorError {
  override readonly name = "IpAddressGenerationFailure";
}
