import { useDashboard } from "../context.js";
import { shortId } from "../model/format.js";
import { hashOf } from "../model/routes.js";

export function HostLink({ host }: { readonly host: string }) {
  return <a href={hashOf("hosts", host)}>{host}</a>;
}

/** A server by its name, while it is there. */
export function ServerLink({ uuid, name }: { readonly uuid: string; readonly name?: string }) {
  const server = useDashboard().cluster.tables.server.get(uuid);
  return (
    <a href={hashOf("servers", uuid)} title={uuid}>
      {server?.name || name || shortId(uuid)}
    </a>
  );
}

export function ProviderLink({ uuid }: { readonly uuid: string }) {
  const provider = useDashboard().cluster.tables.provider.get(uuid);
  return (
    <a href={hashOf("placement", uuid)} title={uuid}>
      {provider?.name ?? shortId(uuid)}
    </a>
  );
}

export function ConsumerLink({ uuid }: { readonly uuid: string }) {
  return (
    <a href={hashOf("consumers", uuid)} title={uuid} class="mono">
      {shortId(uuid)}
    </a>
  );
}

export function RequestLink({ id }: { readonly id: string }) {
  return (
    <a href={hashOf("requests", null, { q: id })} class="mono" title="Requests of this one">
      {id.length > 12 ? `${id.slice(0, 12)}…` : id}
    </a>
  );
}

interface ActionLinksProps {
  readonly subject: "host" | "server";
  readonly of: string;
  /** As many as there is room for; the others are in the list beside each form. */
  readonly most?: number;
}

/** Ways to do something with what is shown: each leads to a form that also shows the command. */
export function ActionLinks({ subject, of, most = 100 }: ActionLinksProps) {
  const { cluster } = useDashboard();
  const actions = cluster.hello.value?.actions.filter((action) => action.subject === subject) ?? [];
  if (actions.length === 0) {
    return null;
  }
  return (
    <ul class="buttons" aria-label={`What can be done with this ${subject}`}>
      {actions.slice(0, most).map(({ name, label, fields, summary }) => (
        <li key={name}>
          <a class="button" href={hashOf("try", name, { [fields[0]?.name ?? subject]: of })} title={summary}>
            {label}
          </a>
        </li>
      ))}
      {actions.length > most && (
        <li>
          <a class="button" href={hashOf("try", actions[most]?.name, { [subject]: of })} aria-label={`More for ${of}`}>
            More …
          </a>
        </li>
      )}
    </ul>
  );
}
