import { useSignal } from "@preact/signals";
import { enter } from "../api.js";
import { useDashboard } from "../context.js";

/** For whoever has no session: the one-time link is easier, the administrator's password does, too. */
export function Enter() {
  const { live } = useDashboard();
  const error = useSignal(location.search === "?refused" ? "This link was used before, or is too old." : "");
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    busy.value = true;
    const entered = await enter({
      user: String(form.get("user")),
      password: String(form.get("password")),
    }).catch(() => null);
    busy.value = false;
    if (entered === true) {
      history.replaceState(null, "", `/${location.hash}`);
      live.state.value = "connecting";
      live.connect();
    } else {
      error.value = entered === null ? "The server does not answer." : "User or password are wrong.";
    }
  };
  return (
    <main class="enter">
      <h1>Window of the cluster</h1>
      <p>
        <code>compute-cluster open</code> prints a link that opens this page. Or enter as the administrator of{" "}
        <code>clouds.yaml</code>:
      </p>
      <form onSubmit={submit}>
        <label>
          User
          <input name="user" autocomplete="username" defaultValue="admin" required />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="primary" disabled={busy.value}>
          Enter
        </button>
        <p class="error" role="alert">
          {error.value}
        </p>
      </form>
    </main>
  );
}
