import { type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Live } from "./live.js";
import type { Cluster } from "./model/cluster.js";
import type { Route } from "./model/routes.js";

/** What every view needs. */
export interface Dashboard {
  readonly cluster: Cluster;
  readonly live: Live;
  readonly route: Signal<Route>;
  /** There is room for one column only. */
  readonly narrow: Signal<boolean>;
}

const DashboardContext = createContext<Dashboard | null>(null);
export const DashboardProvider = DashboardContext.Provider;

export function useDashboard(): Dashboard {
  const window = useContext(DashboardContext);
  if (window === null) {
    throw new Error("a view is drawn outside of the window");
  }
  return window;
}

/** Follows a media query. */
export function mediaSignal(query: string): Signal<boolean> {
  const media = matchMedia(query);
  const matches = signal(media.matches);
  media.addEventListener("change", () => {
    matches.value = media.matches;
  });
  return matches;
}
