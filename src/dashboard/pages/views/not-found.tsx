import { hashOf } from "../model/navigation.js";
import { Empty } from "../parts/indicators.js";
import { ViewHead } from "../parts/navigation.js";

/** The view of an address that names no view. */
export function NotFound({ address }: { readonly address: string }) {
  return (
    <>
      <ViewHead title="Not found" />
      <Empty>
        The dashboard has no view at <code>#/{address}</code>. <a href={hashOf("hosts")}>All hosts</a> or{" "}
        <button type="button" class="plain" onClick={() => history.back()}>
          back
        </button>
      </Empty>
    </>
  );
}
