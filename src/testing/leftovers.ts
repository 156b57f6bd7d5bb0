import type { CancelTimer, DriverContext, LifecycleEvent, Timers } from "../virt/index.js";

/** What a driver still does after it was asked to end. */
export class Leftovers {
  /** Events that it emitted since {@link end}. */
  readonly events: LifecycleEvent[] = [];
  /** Timers of its context that are under way. */
  timers = 0;
  #ended = false;

  end(): void {
    this.#ended = true;
  }

  over(context: DriverContext): DriverContext {
    const emitEvent = (event: LifecycleEvent): void => {
      if (this.#ended) {
        this.events.push(event);
      }
      context.emitEvent(event);
    };
    return { ...context, emitEvent, timers: this.#counted(context.timers) };
  }

  #counted(timers: Timers): Timers {
    return {
      sleep: async (milliseconds, signal) => {
        this.timers += 1;
        await timers.sleep(milliseconds, signal).finally(() => {
          this.timers -= 1;
        });
      },
      after: (milliseconds, action): CancelTimer => {
        let over = false;
        const end = () => {
          if (!over) {
            this.timers -= 1;
          }
          over = true;
        };
        this.timers += 1;
        const cancel = timers.after(milliseconds, () => {
          end();
          action();
        });
        return () => {
          end();
          cancel();
        };
      },
    };
  }
}
