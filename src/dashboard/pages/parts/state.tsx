import type { HostRow } from "../../wire/host-rows.js";
import type { ServerRow } from "../../wire/server-rows.js";
import { Icon, type Shape } from "./icon.js";

export function State({ shape, word }: { readonly shape: Shape; readonly word: string }) {
  return (
    <span class={`state state-${shape}`}>
      <Icon shape={shape} />
      {word}
    </span>
  );
}

const BUSY: readonly string[] = ["starting", "stopping", "restarting", "waiting"];

/** The worst that there is to say of a host, in a word. */
export function HostState({ host }: { readonly host: HostRow }) {
  const { agent, state, registered } = host;
  const isBusy = agent !== null && BUSY.includes(agent);
  // A host that starts again is down until it serves.
  const isSilent = isBusy && state === "down" && registered;
  if (agent !== null && agent !== "serving" && !isSilent) {
    return <State shape={isBusy ? "work" : "down"} word={agent} />;
  }
  if (state === "down") {
    return <State shape="down" word={host.forcedDown ? "forced down" : "down"} />;
  }
  return host.enabled ? <State shape="up" word="up" /> : <State shape="off" word="up, disabled" />;
}

const SHAPE_OF_STATUS: Readonly<Record<string, Shape>> = {
  ACTIVE: "up",
  ERROR: "wrong",
  SHUTOFF: "off",
  PAUSED: "off",
  SUSPENDED: "off",
  SHELVED: "off",
  SHELVED_OFFLOADED: "off",
};

export function ServerState({ server }: { readonly server: ServerRow }) {
  const { status, taskState } = server;
  const shape = taskState === null ? (SHAPE_OF_STATUS[status] ?? "work") : "work";
  return <State shape={shape} word={taskState === null ? status : `${status} · ${taskState}`} />;
}
