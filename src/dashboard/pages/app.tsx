import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { DashboardProvider, Live, mediaSignal } from "./live.js";
import { Cluster } from "./model/cluster.js";
import { routeOf } from "./model/navigation.js";
import { Shell } from "./views/shell.js";

const cluster = new Cluster();
const live = new Live(cluster);
const route = signal(routeOf(location.hash));
const narrow = mediaSignal("(max-width: 47.99rem)");

addEventListener("hashchange", () => {
  const before = route.peek();
  route.value = routeOf(location.hash);
  if (before.view !== route.value.view || before.of !== route.value.of) {
    scrollTo(0, 0);
  }
});
effect(() => {
  live.wantRequests(route.value.view === "requests");
});
live.connect();

const root = document.getElementById("app");
if (root !== null) {
  render(
    <DashboardProvider value={{ cluster, live, route, narrow, dialog: signal(null), notice: signal(null) }}>
      <Shell />
    </DashboardProvider>,
    root,
  );
}
