import type { HostRow, ServerRow } from "../../wire.js";
import { Icon, type Shape } from "./icon.js";

export function State({ shape, word }: { readonly shape: Shape; readonly word: string }) {
  return (
    <span class={`state state-${shape}`}>
      <Icon shape={shape} />
      {word}
    </span>
  );
}

/** The worst that there is to say of a host, in a word. */
export function HostState({ host }: { readonly host: HostRow }) {
  if (host.state === "down") {
    const ended = host.agent === "killed" || host.agent === "failed" || host.agent === "stopped" ? host.agent : null;
    return <State shape="down" word={ended ?? (host.forcedDown ? "forced down" : "down")} />;
  }
  if (host.agent !== null && host.agent !== "serving") {
    return (
      <State
        shape={["starting", "stopping", "restarting", "waiting"].includes(host.agent) ? "work" : "down"}
        word={host.agent}
      />
    );
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
