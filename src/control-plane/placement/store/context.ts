import type { State } from "./state.js";
import type { UnitOfWork } from "./unit-of-work.js";

/** What a change works on: everything known, and the request's unit of work. */
export interface Changing {
  readonly state: State;
  readonly unit: UnitOfWork;
}
