import { useWindow } from "../context.js";
import { amount, className } from "../model/format.js";
import { ConsumerLink, ProviderLink } from "../parts/links.js";
import { Scroll } from "../parts/scroll.js";

/** What a server and its moves hold at this moment: each half with its owner. */
export function Held({ server }: { readonly server: string }) {
  const { cluster } = useWindow();
  const consumers = cluster.consumersOfServer.get(server);
  const rows = consumers.flatMap((consumer) =>
    Object.entries(consumer.held).map(([provider, amounts]) => ({ consumer, provider, amounts })),
  );
  if (rows.length === 0) {
    return <p class="quiet">Nothing is held in Placement.</p>;
  }
  return (
    <Scroll label="Who holds what">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">Holder</th>
            <th scope="col">Provider</th>
            <th scope="col">Resources</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ consumer, provider, amounts }) => (
            <tr key={`${consumer.uuid}${provider}`}>
              <th scope="row">
                <HolderType type={consumer.type} /> <ConsumerLink uuid={consumer.uuid} />
              </th>
              <td>
                <ProviderLink uuid={provider} />
              </td>
              <td>
                <Amounts amounts={amounts} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export function HolderType({ type }: { readonly type: string }) {
  return (
    <span class="holder">
      <span class={`held held-${type}`} aria-hidden="true" /> {type}
    </span>
  );
}

export function Amounts({ amounts }: { readonly amounts: Readonly<Record<string, number>> }) {
  return (
    <span class="amounts">
      {Object.entries(amounts).map(([name, value]) => (
        <span key={name}>
          <b>{amount(name, value)}</b> {className(name)}
        </span>
      ))}
    </span>
  );
}
