import { PublicError } from "../../runtime/public-error.js";

/** No host can take the instance. The message counts the reasons, which is what an operator looks for. */
export class NoValidHost extends PublicError {
  override readonly name = "NoValidHost";

  constructor(reason: string) {
    super(`No valid host was found. ${reason}`);
  }
}
