import { useSignal, useSignalEffect } from "@preact/signals";
import { enter, leave } from "../api.js";
import { useDashboard } from "../live.js";
import { age, clockTime } from "../model/format.js";
import { hashOf, VIEW_NAMES, type View } from "../model/navigation.js";
import { Icon } from "../parts/indicators.js";
import { Search } from "../parts/navigation.js";
import { ActionDialogs } from "./action-dialog.js";
import { FindingsBadge, FindingsView } from "./findings.js";
import { HostView } from "./host.js";
import { Hosts } from "./hosts.js";
import { Logs } from "./logs.js";
import { NetworkView } from "./network.js";
import { Networks } from "./networks.js";
import { NotFound } from "./not-found.js";
import { ConsumerView, Placement } from "./placement.js";
import { Ports } from "./ports.js";
import { ProviderView } from "./provider.js";
import { Requests } from "./requests.js";
import { ServerView } from "./server.js";
import { Servers } from "./servers.js";
import { Snapshots } from "./snapshots.js";
import { Try } from "./try.js";

export function Shell() {
  const { cluster, live, route } = useDashboard();
  const { view, of } = route.value;
  const hello = cluster.hello.value;
  useSignalEffect(() => {
    const name = cluster.hello.value?.name;
    const object = route.value.view === "unknown" ? null : route.value.of;
    document.title = [object, VIEW_NAMES[route.value.view], name].filter(Boolean).join(" · ");
  });
  if (live.state.value === "out") {
    return <Enter />;
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it skips to an anchor, which the address cannot name */}
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The address has the view after its #.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="top">
        <div class="brand">
          <span class="brand-name" title="Name of the cluster">
            {hello?.name ?? "Cluster"}
          </span>
          <Liveness />
        </div>
        <Nav />
        <FindingsBadge />
        <Search />
      </header>
      <main id="main" tabIndex={-1}>
        <Content key={`${view}/${of}`} />
      </main>
      <ActionDialogs />
      {hello !== null && (
        <footer class="foot">
          <span>compute-agent {hello.version}</span>
          <button type="button" onClick={() => void leave(hello.secret)}>
            Sign out
          </button>
        </footer>
      )}
    </>
  );
}

function Nav() {
  const { cluster, route } = useDashboard();
  const hello = cluster.hello.value;
  const hasSavedItems = cluster.tables.snapshot.rows.size + cluster.tables.scenario.rows.size > 0;
  const views: View[] = ["hosts", "servers", "networks"];
  if (hello?.placementElsewhere !== true) {
    views.push("placement");
  }
  views.push("requests", "logs");
  if (hello !== null && hello.actions.length > 0) {
    views.push("try");
  }
  if (hasSavedItems) {
    views.push("snapshots");
  }
  return (
    <nav aria-label="Views">
      {views.map((view) => (
        <a
          key={view}
          href={hashOf(view)}
          aria-current={VIEW_NAMES[route.value.view] === VIEW_NAMES[view] ? "page" : undefined}
        >
          {VIEW_NAMES[view]}
        </a>
      ))}
    </nav>
  );
}

/** Whether the displayed data is live, or its age. */
function Liveness() {
  const { cluster, live } = useDashboard();
  const state = live.state.value;
  if (state === "live") {
    return (
      <span class="liveness" role="status" title="Changes appear without a reload.">
        <Icon shape="up" /> {cluster.ready.value ? "live" : "loading"}
        {cluster.hello.value?.readOnly === true ? ", read-only" : ""}
      </span>
    );
  }
  // Read only here: each message changes it, and nothing of it is displayed while messages arrive.
  const receivedAt = live.lastReceivedAt.value;
  const old =
    receivedAt === null ? "" : `, data from ${clockTime(receivedAt)}, ${age(live.now.value - receivedAt)} old`;
  return (
    <span class={`liveness ${state === "away" ? "liveness-away" : ""}`}>
      <Icon shape={state === "away" ? "down" : "work"} />
      <span role="status">{state === "away" ? "disconnected" : "connecting"}</span>
      <span aria-hidden="true">{old}</span>
    </span>
  );
}

function Content() {
  const { view, of } = useDashboard().route.value;
  switch (view) {
    case "hosts":
      return of === null ? <Hosts /> : <HostView host={of} />;
    case "servers":
      return of === null ? <Servers /> : <ServerView uuid={of} />;
    case "networks":
      return of === null ? <Networks /> : <NetworkView uuid={of} />;
    case "ports":
      return <Ports />;
    case "placement":
      return of === null ? <Placement /> : <ProviderView uuid={of} />;
    case "consumers":
      return of === null ? <Placement /> : <ConsumerView uuid={of} />;
    case "requests":
      return <Requests />;
    case "try":
      return <Try />;
    case "snapshots":
      return <Snapshots />;
    case "logs":
      return <Logs />;
    case "findings":
      return <FindingsView />;
    case "unknown":
      return <NotFound address={of ?? ""} />;
  }
}

/** The login form, for the administrator's password; the one-time link is easier. */
function Enter() {
  const { live } = useDashboard();
  const error = useSignal(location.search === "?refused" ? "The link was already used, or has expired." : "");
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    busy.value = true;
    const entered = await enter({
      user: String(form.get("user")),
      password: String(form.get("password")),
    }).catch(() => null);
    busy.value = false;
    if (entered === true) {
      history.replaceState(null, "", `/${location.hash}`);
      live.state.value = "connecting";
      live.connect();
    } else {
      error.value =
        entered === null ? "The control plane does not respond." : "The user name or the password is wrong.";
    }
  };
  return (
    <main class="enter">
      <h1>Sign in to the cluster</h1>
      <p>
        <code>compute-agent open</code> prints a link that signs you in. Or use the name and password of an
        administrator from <code>clouds.yaml</code>:
      </p>
      <form onSubmit={submit}>
        <label>
          User name
          <input name="user" autocomplete="username" defaultValue="admin" required />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="primary" disabled={busy.value}>
          Sign in
        </button>
        <p class="error" role="alert">
          {error.value}
        </p>
      </form>
    </main>
  );
}
