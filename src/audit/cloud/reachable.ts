import { HttpConnectFailure, HttpTimeout } from "../../runtime/http.js";
import { CloudUnreachable } from "./errors.js";

/** @param whose what was asked, and what to check. @throws {CloudUnreachable} */
export async function reachable<T>(response: Promise<T>, whose: string): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof HttpConnectFailure || error instanceof HttpTimeout) {
      throw new CloudUnreachable(`${error.message}: ${whose}`, { cause: error });
    }
    throw error;
  }
}
