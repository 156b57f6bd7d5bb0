import type { FindingRow } from "../../wire/audit-rows.js";
import { Icon } from "./icon.js";

/** What is wrong, in red and in words. */
export function Findings({ findings }: { readonly findings: readonly FindingRow[] }) {
  return findings.length === 0 ? null : (
    <ul class="findings">
      {findings.map(({ code, text }) => (
        <li key={`${code}${text}`}>
          <Icon shape="wrong" />
          <span>
            <b>{code.replaceAll("-", " ")}</b> {text}
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Empty({ children }: { readonly children: preact.ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
