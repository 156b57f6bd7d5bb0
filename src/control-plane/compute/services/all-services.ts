import type { Service } from "../../../records/index.js";
import { EventLoopTicks } from "../../time-slices.js";
import type { ComputeDeps } from "../api/deps.js";

/** Services that are read in one go. */
const ROWS = 500;

/** All services, some at a time: ten thousand are a tenth of a second, which others need not wait for. */
export async function* allServices(
  deps: Pick<ComputeDeps, "store" | "clock" | "timers">,
  filter: { readonly host?: string; readonly binary?: string } = {},
): AsyncGenerator<readonly Service[]> {
  const ticks = new EventLoopTicks(deps);
  let after = 0;
  for (;;) {
    const services = deps.store.services.list({ ...filter, after, limit: ROWS });
    yield services;
    const last = services.at(-1);
    if (last === undefined || services.length < ROWS) {
      return;
    }
    after = last.id;
    if (ticks.due) {
      await ticks.give();
    }
  }
}
