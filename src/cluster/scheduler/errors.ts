/** No host can take the instance. The message counts the reasons, which is what an operator looks for. */
export class NoValidHost extends Error {
  override readonly name = "NoValidHost";

  constructor(reason: string) {
    super(`No valid host was found. ${reason}`);
  }
}
