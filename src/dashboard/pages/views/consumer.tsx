import { useDashboard } from "../context.js";
import { count } from "../model/format.js";
import { hashOf } from "../model/routes.js";
import { Empty, Findings } from "../parts/findings.js";
import { ServerLink } from "../parts/links.js";
import { HeldRows, HolderType } from "./held.js";
import { Fact } from "./server.js";

/** What one consumer holds, provider by provider. */
export function ConsumerView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const consumer = cluster.tables.consumer.get(uuid);
  return (
    <>
      <div class="view-head">
        <h1>
          <a class="up-link" href={hashOf("placement")}>
            Placement
          </a>{" "}
          Consumer
        </h1>
        {consumer !== undefined && <HolderType type={consumer.type} />}
      </div>
      <dl class="facts">
        <Fact name="Id">
          <span class="mono">{uuid}</span>
        </Fact>
        {consumer !== undefined && (
          <>
            <Fact name="Server">{consumer.server === null ? "not known" : <ServerLink uuid={consumer.server} />}</Fact>
            <Fact name="Generation">{count(consumer.generation)}</Fact>
            {consumer.placementType !== null && <Fact name="Type in Placement">{consumer.placementType}</Fact>}
            <Fact name="Project">
              <span class="mono">{consumer.projectId}</span>
            </Fact>
            <Fact name="User">
              <span class="mono">{consumer.userId}</span>
            </Fact>
          </>
        )}
      </dl>
      <Findings findings={cluster.findingsOfConsumer.get(uuid)} />
      {consumer === undefined && cluster.ready.value && <Empty>It holds nothing.</Empty>}
      {consumer !== undefined && (
        <section class="panel">
          <h2>Holds</h2>
          <HeldRows label="What it holds" consumers={[consumer]} />
        </section>
      )}
    </>
  );
}
