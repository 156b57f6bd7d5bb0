import type { ConsumerRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { inOrder } from "../model/bars.js";
import { amount } from "../model/format.js";
import { Grid } from "../parts/lists.js";
import { ConsumerLink, ProviderLink } from "../parts/navigation.js";

/** The current allocations of a server and its moves, each with its owner. */
export function CurrentAllocations({ server }: { readonly server: string }) {
  const { cluster } = useDashboard();
  const consumers = cluster.consumersOfServer.get(server);
  if (consumers.length === 0) {
    return <p class="quiet">No allocations in Placement.</p>;
  }
  return <AllocationRows label="Current allocations" consumers={consumers} withConsumer />;
}

interface AllocationRowsProps {
  readonly label: string;
  readonly consumers: readonly ConsumerRow[];
  /** False if all rows belong to the same consumer. */
  readonly withConsumer?: boolean;
}

/** The allocations of consumers, by provider. */
export function AllocationRows({ label, consumers, withConsumer = false }: AllocationRowsProps) {
  const rows = consumers.flatMap(({ uuid, type, held }) =>
    Object.entries(held).map(([provider, amounts]) => ({ uuid, type, provider, amounts })),
  );
  const consumer = { title: "Consumer", cell: (row: (typeof rows)[number]) => <ConsumerName {...row} /> };
  return (
    <Grid
      label={label}
      columns={[
        ...(withConsumer ? [consumer] : []),
        { title: "Provider", cell: ({ provider }) => <ProviderLink uuid={provider} /> },
        { title: "Resources", cell: ({ amounts }) => <Amounts amounts={amounts} /> },
      ]}
      rows={rows}
      keyOf={({ uuid, provider }) => `${uuid}${provider}`}
    />
  );
}

/** A consumer as the owner of allocations. */
export function ConsumerName({ uuid, type }: Pick<ConsumerRow, "uuid" | "type">) {
  return (
    <>
      <ConsumerTypeName type={type} /> <ConsumerLink uuid={uuid} />
    </>
  );
}

export function ConsumerTypeName({ type }: { readonly type: string }) {
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
          <b>{amount(name, value)}</b> {name}
        </span>
      ))}
    </span>
  );
}
