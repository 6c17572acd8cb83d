import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import type { Session } from "../api/wire";
import { health, spoken } from "../live/health";
import mark from "../mark.svg";
import { signOut, useHeard, useNow } from "../session";
import { pageTitle } from "../text/titles";
import { useTheme } from "../theme";
import { Refused, useDoing } from "./act";
import { Icon } from "./icon";
import { Links, PAGES, useGoKeys } from "./navigation";

const TITLED = [...PAGES, { to: "/submit", title: "Submit a job" }];

/** What all pages share: navigation, who is signed in, whether what is shown is current. */
export function Shell({ session }: { session: Session }) {
  const [theme, flip] = useTheme();
  const { error, run } = useDoing();
  const leave = (): void => void run(signOut);
  useGoKeys();
  return (
    <div className="shell">
      <a
        className="sr"
        href="#main"
        onClick={(event) => {
          event.preventDefault(); // the address stays what can be sent to somebody
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <aside className="side">
        <Link className="brand" to="/">
          <img src={mark} alt="" width="26" height="26" />
          KubeDL
        </Link>
        <div className="cluster">
          <span className="dot" />
          <b className="cut">{session.cluster || "this cluster"}</b>
        </div>
        <nav className="nav" aria-label="Main">
          <Links />
        </nav>
        <div className="foot">
          <LiveDot />
          <Me session={session} leave={leave} />
        </div>
      </aside>
      <div className="main">
        <header className="top">
          <Link className="brand narrow" to="/" aria-label="KubeDL, overview">
            <img src={mark} alt="" width="26" height="26" />
          </Link>
          <span className="narrow">
            <LiveDot />
          </span>
          <span className="grow" />
          <Link className="button" to="/submit">
            <Icon name="plus" small />
            Submit
          </Link>
          <button className="button icon-only" onClick={flip} aria-label={theme === "dark" ? "Light colours" : "Dark colours"}>
            <Icon name={theme === "dark" ? "sun" : "moon"} small />
          </button>
          {session.mode === "token" ? (
            <button className="button narrow" onClick={leave}>
              Sign out
            </button>
          ) : null}
        </header>
        <LiveVoice />
        <Main>
          <Refused error={error} />
          <Outlet />
        </Main>
      </div>
      <nav className="tabbar" aria-label="Pages">
        <Links />
      </nav>
    </div>
  );
}

/** What is shown stays while nothing is heard, and loses its colours. A new page gets the title and the focus. */
function Main({ children }: { children: ReactNode }) {
  const { tone } = health(useHeard(), useNow(1000));
  const place = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (path !== undefined) document.title = pageTitle(path, TITLED);
    if (before.current !== undefined && before.current !== path) place.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  return (
    <main className={tone === "ok" ? "page" : "page stale"} id="main" tabIndex={-1} ref={place}>
      {children}
    </main>
  );
}

function LiveDot() {
  const heard = useHeard();
  const { tone, words } = health(heard, useNow(1000));
  return (
    <div className={`livebox tone-dot-${tone}`}>
      <span className="dot" />
      <span className="words">{words}</span>
    </div>
  );
}

/** The words of the dot, when they change. There are two dots, for wide and narrow windows, and one voice. */
function LiveVoice() {
  return (
    <p className="sr" role="status">
      {spoken(useHeard(), useNow(1000))}
    </p>
  );
}

function Me({ session, leave }: { session: Session; leave: () => void }) {
  const short = session.user.replace(/^system:serviceaccount:/, "");
  return (
    <div className="me">
      <span className="face" aria-hidden="true">
        {short.replace(/[^A-Za-z0-9]/g, "").slice(0, 2).toUpperCase()}
      </span>
      <span className="who">
        <b className="cut" title={session.user}>
          {short}
        </b>
        {session.mode === "token" ? (
          <button className="linklike" onClick={leave}>
            Sign out
          </button>
        ) : (
          <span className="dimmer">{session.mode === "local" ? "your kubeconfig" : "signed in by the proxy"}</span>
        )}
      </span>
    </div>
  );
}
