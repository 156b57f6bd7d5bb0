import type { ConsumerRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { inOrder } from "../model/bars.js";
import { amount, className } from "../model/format.js";
import { Scroll } from "../parts/lists.js";
import { ConsumerLink, ProviderLink } from "../parts/navigation.js";

/** The current allocations of a server and its moves, each with its owner. */
export function Held({ server }: { readonly server: string }) {
  const { cluster } = useDashboard();
  const consumers = cluster.consumersOfServer.get(server);
  if (consumers.length === 0) {
    return <p class="quiet">Nothing is held in Placement.</p>;
  }
  return <HeldRows label="Who holds what" consumers={consumers} withHolder />;
}

/** The allocations of consumers, by provider. */
export function HeldRows({ label, consumers, withHolder = false }: HeldRowsProps) {
  return (
    <Scroll label={label}>
      <table class="grid">
        <thead>
          <tr>
            {withHolder && <th scope="col">Holder</th>}
            <th scope="col">Provider</th>
            <th scope="col">Resources</th>
          </tr>
        </thead>
        <tbody>
          {consumers.flatMap(({ uuid, type, held }) =>
            Object.entries(held).map(([provider, amounts]) => (
              <tr key={`${uuid}${provider}`}>
                {withHolder && (
                  <th scope="row">
                    <HolderType type={type} /> <ConsumerLink uuid={uuid} />
                  </th>
                )}
                <td>
                  <ProviderLink uuid={provider} />
                </td>
                <td>
                  <Amounts amounts={amounts} />
                </td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </Scroll>
  );
}

interface HeldRowsProps {
  readonly label: string;
  readonly consumers: readonly ConsumerRow[];
  /** False if all rows belong to the same consumer. */
  readonly withHolder?: boolean;
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
      {inOrder(amounts).map(([name, value]) => (
        <span key={name}>
          <b>{amount(name, value)}</b> {className(name)}
        </span>
      ))}
    </span>
  );
}
