import { hashOf } from "../model/navigation.js";
import { Empty } from "../parts/indicators.js";
import { ViewHead } from "../parts/navigation.js";

/** The view of an address that names no view. */
export function NotFound({ address }: { readonly address: string }) {
  return (
    <>
      <ViewHead title="Not found">
        <span class="buttons">
          <a class="button" href={hashOf("hosts")}>
            All hosts
          </a>
          <button type="button" onClick={() => history.back()}>
            Back
          </button>
        </span>
      </ViewHead>
      <Empty>
        The dashboard has no view at <code>#/{address}</code>.
      </Empty>
    </>
  );
}
