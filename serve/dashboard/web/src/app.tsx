import { useEffect, useRef, useState } from "preact/hooks";
import { asked, locked, unlock, useGet, wrong } from "./api";
import { clock, moment } from "./format";
import { change, href, live, route, scope } from "./route";
import { views } from "./views";
import { nextTheme, theme } from "./theme";
import type { Processes, Recording } from "./wire";

/** The page: at the top the part that is shown, the tabs, and one view. */
export function App() {
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp((h) => !h));
  if (locked.value) return <Unlock />;
  const shown = views.find((v) => v.name === route.value.view);
  return (
    <>
      <Header />
      <nav aria-label="views">
        {views.map((v) => (
          <a key={v.name} href={href(v.name)} aria-current={v === shown ? "page" : undefined} title={`key ${v.key}`}>
            {v.title}
          </a>
        ))}
        <button class="quiet" onClick={() => setHelp(!help)} title="keys (?)">
          ?
        </button>
      </nav>
      {help && <Help close={() => setHelp(false)} />}
      <main>{shown ? <shown.show key={shown.name} /> : <p class="empty">There is no view of this name. The tabs above are those there are.</p>}</main>
    </>
  );
}

function Header() {
  const about = useGet<Recording>("recording", {}).value;
  const processes = useGet<Processes>("processes", {}).value;
  const traced = processes?.processes.filter((p) => p.traced) ?? [];
  const { from, to } = scope.value;
  return (
    <header>
      <a class="name" href={href("overview")}>
        Ingero
      </a>
      <span class="where" title={about?.db}>
        {about ? `${about.node || "this node"} · ${about.db.split("/").pop()}` : ""}
      </span>
      <span class="when">{from && to ? `${moment(+from)} … ${clock(+to)}` : about ? `${moment(about.first_ns)} … ${clock(about.last_ns)}` : ""}</span>
      {(from || to || scope.value.since !== "all") && (
        <button onClick={() => change({ from: null, to: null, since: null })} title="look at all that was recorded">
          all of it
        </button>
      )}
      {traced.length > 1 && (
        <select aria-label="process" value={scope.value.pid ?? ""} onChange={(e) => change({ pid: e.currentTarget.value || null })}>
          <option value="">all processes</option>
          {traced.map((p) => (
            <option key={p.pid} value={p.pid}>
              {p.name} {p.pid}
              {p.rank >= 0 ? ` · rank ${p.rank}` : ""}
            </option>
          ))}
        </select>
      )}
      <label class="live" title="ask every two seconds (l)">
        <input type="checkbox" checked={live.value} onChange={() => change({ live: live.value ? null : 1 })} /> live
      </label>
      <button class="quiet" onClick={nextTheme} title="colours: as the system, light, dark (d)">
        {{ system: "◐", light: "○", dark: "●" }[theme.value]}
      </button>
    </header>
  );
}

/** Asks for the token that a server on the network wants. */
function Unlock() {
  const [token, set] = useState("");
  return (
    <form
      class="unlock"
      onSubmit={(e) => {
        e.preventDefault();
        unlock(token.trim());
      }}
    >
      <h1>Ingero</h1>
      <label for="token">
        This server wants a token: that of <code>~/.ingero/node-token</code>, or what it was started with. It is kept until this tab is closed.
      </label>
      {wrong.value && (
        <p class="error" role="alert">
          The server does not know this token.
        </p>
      )}
      <input id="token" type="password" autocomplete="off" value={token} onInput={(e) => set(e.currentTarget.value)} autofocus />
      <button type="submit" disabled={token.trim() === ""}>
        Show
      </button>
    </form>
  );
}

function Help(props: { close: () => void }) {
  const keys = [
    ...views.map((v) => [v.key, v.title]),
    ["l", "live: ask every two seconds"],
    ["r", "ask anew"],
    ["a", "all of the recording"],
    ["d", "light or dark"],
    ["j k", "the next finding, the one before"],
    ["Esc", "back"],
    ["?", "this"],
  ];
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current!.focus();
    const pressed = (e: KeyboardEvent) => {
      if (e.key !== "Escape") return;
      e.stopPropagation();
      props.close();
    };
    addEventListener("keydown", pressed, true);
    return () => removeEventListener("keydown", pressed, true);
  }, []);
  return (
    <div class="help" role="dialog" aria-label="keys">
      <dl>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button ref={button} onClick={props.close}>
        close
      </button>
    </div>
  );
}

function useKeys(help: () => void) {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target as HTMLElement).closest("input:not([type=checkbox]), textarea, select")) return;
      const view = views.find((v) => v.key === e.key);
      if (view) location.hash = href(view.name);
      else if (e.key === "l") change({ live: live.value ? null : 1 });
      else if (e.key === "r") asked.value++;
      else if (e.key === "a") change({ from: null, to: null, since: null });
      else if (e.key === "d") nextTheme();
      else if (e.key === "?") help();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
